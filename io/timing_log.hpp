#pragma once
// timing.csv, where the time of each step went, and summary.toml, the result of a run in a few numbers.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/box.hpp"
#include "io/file.hpp"

namespace mhd {

/// Wall-clock seconds of one step, each the maximum over ranks.
struct TimingRow {
  std::int64_t step = 0;
  double seconds = 0;   ///< the whole step
  double compute = 0;   ///< right-hand sides and Runge-Kutta updates
  double exchange = 0;  ///< packing, posting, unpacking of halos
  double wait = 0;      ///< waiting for messages
  double output = 0;    ///< files written after this step
};

/// One line per step, kept in memory and written every few seconds: steps can take less than a millisecond. For rank 0.
/// Throws Error(io).
class TimingLog {
 public:
  /// Starts the file; with `last`, goes on with one that is there behind its row of that step.
  explicit TimingLog(const std::string& path, std::optional<std::int64_t> last = {}, double flush_seconds = 10);
  TimingLog(TimingLog&&) = default;
  /// Writes what is pending, for a run that ends by an exception; close() reports errors.
  ~TimingLog();

  void append(const TimingRow& row);
  void flush();
  /// Makes the rows durable.
  void sync();
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  TextWriter file_;
  std::string pending_;
  std::chrono::duration<double> flush_interval_;
  Clock::time_point flushed_;
};

struct RunSummary {
  std::string status;  ///< "complete", or why the run ended before
  std::int64_t steps = 0;
  double t = 0;
  double dt = 0;  ///< last step
  Int3 cells{};
  int order = 0;
  int fields = 0;
  int ranks = 0;
  Int3 decomposition{};
  std::string backend;
  double seconds_total = 0;
  double seconds_stepping = 0;
  double seconds_output = 0;
  double ns_per_cell_step_median = 0;
  double ns_per_cell_step_p90 = 0;
  std::int64_t bytes_output = 0;
  std::int64_t snapshots = 0;
  std::string version;
  std::string revision;
};

/// As TOML, one key per member.
std::string summary_text(const RunSummary& summary);

/// Replaces the file at `path` atomically. Throws Error(io).
void write_summary(const std::string& path, const RunSummary& summary);

}  // namespace mhd
