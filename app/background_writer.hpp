#pragma once
// Writes files of fields one after the other, each while steps go on, where the solver can lend a copy of its fields.

#include <functional>
#include <future>
#include <vector>

#include "core/comm.hpp"
#include "core/decomposition.hpp"
#include "core/solver.hpp"
#include "io/snapshot.hpp"

namespace mhd {

class BackgroundWriter {
 public:
  /// Collective.
  BackgroundWriter(FieldSet set, const Comm& comm);
  /// Waits for the file that is being written.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Collective: hands these fields of the present state to `write`, which may use no other communicator than the one
  /// it is given; in a thread, or here and now. Waits for the file before and throws its error, if any, on every rank.
  void start(Solver& solver, std::vector<Field> fields,
             std::function<void(const FieldSource& source, const Comm& comm)> write);
  /// Collective: returns when everything is on disk; throws the error of the last file on every rank.
  void wait();

 private:
  FieldSet set_;
  Comm comm_;  ///< of its own: a thread writes while the main loop communicates
  MPI_Comm duplicate_ = MPI_COMM_NULL;
  bool may_overlap_ = true;
  std::future<void> pending_;
};

}  // namespace mhd
