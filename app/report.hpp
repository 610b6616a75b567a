#pragma once
// What a run tells the person at the terminal: banner, progress, result. Rank 0 prints.

#include <chrono>
#include <cstdint>
#include <string>

#include "core/config.hpp"
#include "core/decomposition.hpp"
#include "io/timing_log.hpp"

namespace mhd {

/// What will run, where and how; one fact per line.
std::string banner(const Config& config, const Decomposition& decomposition, const std::string& backend,
                   const std::string& run_directory);

/// The last lines of a run: how it ended, how long it took.
std::string closing_text(const RunSummary& summary, const std::string& run_directory);

/// Prints what the user asked for. Throws Error(io) where standard output cannot take it.
void print_result(const std::string& text);

/// Prints what goes along with a run. A terminal or log that is gone does not end the run.
void tell(const std::string& text);

/// "1:02:03" or "2:03"
std::string duration_text(double seconds);

/// One line per report interval: step, t, dt, ns per cell and step, percent done, time left; on a terminal a bar that
/// is drawn over.
class Progress {
 public:
  /// Starts at a step and time, those of a checkpoint if any.
  Progress(const Config& config, std::int64_t step, double t);

  /// After each step. Prints when the interval has passed.
  void after_step(std::int64_t step, double t, double dt);
  /// Ends the line of a bar, so that other text can follow.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  double fraction(std::int64_t step, double t) const;

  const TimeConfig& time_;
  double cells_;
  bool terminal_;
  bool bar_open_ = false;
  std::chrono::duration<double> interval_;
  Clock::time_point started_, printed_;
  std::int64_t printed_step_;
  double started_fraction_;
};

}  // namespace mhd
