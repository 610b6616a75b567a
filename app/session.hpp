#pragma once
// The lifetime of MPI, the sanity of the launch, and the one place where an exception becomes an exit code.

#include <functional>
#include <string>

#include "core/comm.hpp"

namespace mhd {

/// MPI from construction to destruction. MPI's own errors are returned, not fatal.
class Session {
 public:
  /// Throws Error(launch) where the launcher says that there are several processes but MPI sees one: each of them would
  /// run the whole simulation in the same directory.
  Session(int& argc, char**& argv);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Comm& comm() const { return comm_; }

 private:
  Comm comm_;
};

/// "MPICH 4.0.2", of the library in use; callable without MPI_Init.
std::string mpi_version();

/// Rank that the process launcher gave this process, as its environment variables say; 0 without a launcher. Known
/// before MPI starts.
int launcher_rank();

/// Runs a command and returns the exit code of the process. An error that all ranks share is printed once; one that
/// only this rank knows ends the whole job at once, with its code.
int exit_code_of(const std::function<int()>& command);

}  // namespace mhd
