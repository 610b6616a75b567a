#pragma once
// Writes files of fields one after the other, each while steps go on, where the solver can lend a copy of its fields.

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <vector>

#include "app/write_times.hpp"
#include "core/comm.hpp"
#include "core/decomposition.hpp"
#include "core/solver.hpp"
#include "io/snapshot.hpp"

namespace mhd {

class BackgroundWriter {
 public:
  /// Collective. `overlap` absent: in a thread where the solver works by itself meanwhile.
  BackgroundWriter(FieldSet set, const Comm& comm, std::optional<bool> overlap);
  /// Waits for the file that is being written.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Collective: hands these fields of the present state to `write`, which may use no other communicator than the one
  /// it is given; in a thread, or here and now. Waits for the file before and throws its error, if any, on every rank.
  /// `times`, which must outlive the writing, learns how long it took.
  void start(Solver& solver, std::vector<Field> fields, WriteTimes& times,
             std::function<void(const FieldSource& source, const Comm& comm)> write);
  /// Collective: returns when everything is on disk; throws the error of the last file on every rank.
  void wait();
  /// Returns when no thread writes any more, whatever came of it.
  void join() noexcept;
  /// Seconds that the file in writing may still take on this rank; 0 where there is none.
  double remaining() const;

 private:
  FieldSet set_;
  Comm comm_;  ///< of its own: a thread writes while the main loop communicates
  MPI_Comm duplicate_ = MPI_COMM_NULL;
  std::optional<bool> wanted_;
  bool may_overlap_ = true;
  std::future<void> pending_;
  WriteTimes* pending_times_ = nullptr;  ///< of the kind of the pending file
  std::chrono::steady_clock::time_point pending_since_{};
};

}  // namespace mhd
