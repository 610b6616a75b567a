#pragma once
// The lifetime of MPI, the sanity of the launch, and the one place where an exception becomes an exit code.

#include <functional>
#include <string>

#include "core/comm.hpp"

namespace mhd {

/// "MPICH 4.0.2", of the library in use; callable without MPI_Init.
std::string mpi_version();

/// Rank that the process launcher gave this process, as its environment variables say; 0 without a launcher. Known
/// before MPI starts.
int launcher_rank();

/// Runs a command and returns the exit code of the process. An error that all ranks share is printed once; one that
/// only this rank knows ends the whole job at once, with its code.
int exit_code_of(const std::function<int()>& command);

/// Runs `prepare` before MPI starts, then `command` with MPI. What fails in `prepare` ends a single process there and
/// then. Of several processes the first reports its failure at once, but all go on to MPI to agree, since a file may be
/// missing on one node only, and the others would wait for its processes for ever. Throws Error(launch) where the
/// launcher says that there are several processes but MPI sees one: each of them would run the whole simulation in the
/// same directory.
int run_with_mpi(int argc, char** argv, const std::function<void()>& prepare,
                 const std::function<int(const Comm&)>& command);

}  // namespace mhd
