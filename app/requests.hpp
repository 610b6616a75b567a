#pragma once
// What is asked of a running simulation from outside, and when: signals to any rank, the files STOP and RELOAD in the
// run directory, the time limit, the clock of the checkpoints. All ranks agree on it between two steps.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "app/run_options.hpp"
#include "app/signals.hpp"
#include "app/write_times.hpp"
#include "core/comm.hpp"

namespace mhd {

struct Request {
  bool stop = false, checkpoint = false, reload = false;
};

/// Whether a run must stop now to keep within a time limit, all in wall-clock seconds: there is no longer room for the
/// slowest step so far, the file that is being written, a snapshot, and one and a half times the slowest checkpoint.
bool limit_reached(double limit, double passed, double slowest_step, const WriteReserve& writes);

class Requests {
 public:
  /// The paths matter on rank 0.
  Requests(const Comm& comm, const RunOptions& options, std::string stop_file, std::string reload_file);

  /// Collective, between two steps; the same on every rank. Ranks talk to each other about ten times a second, in
  /// shorter runs of steps than that never: in between nothing is asked. Never before the first step.
  Request ask(std::int64_t step, double checkpoint_every_seconds, const WriteReserve& writes);
  /// Restarts the clock of the checkpoints.
  void checkpoint_written() { last_pass_ = checkpoint_ = Clock::now(); }
  /// Removes the STOP file, once the run has stopped for it.
  void obeyed() const;
  /// Why the run stops, on rank 0: "SIGTERM", "STOP file", "time limit ...".
  const std::string& reason() const { return reason_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool out_of_time(Clock::time_point now, const WriteReserve& writes);
  std::int64_t steps_until_next(std::int64_t step, Clock::time_point now) const;

  Comm comm_;
  std::optional<double> limit_seconds_;
  std::string stop_file_, reload_file_;
  StopSignals signals_;
  Clock::time_point started_, asked_, checkpoint_, looked_{};
  std::optional<Clock::time_point> last_pass_;
  double slowest_pass_ = 0;  ///< seconds from step to step, with outputs other than checkpoints
  std::optional<std::int64_t> next_step_;
  std::int64_t asked_step_ = 0;
  std::string reason_, limit_text_;
};

}  // namespace mhd
