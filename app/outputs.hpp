#pragma once
// All files of a run: series, snapshots with their XDMF index, timing log, summary. Every member is collective.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/snapshot_writer.hpp"
#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/decomposition.hpp"
#include "core/schedule.hpp"
#include "core/solver.hpp"
#include "io/run_directory.hpp"
#include "io/series.hpp"
#include "io/timing_log.hpp"

namespace mhd {

/// What is written when, from the configuration.
Cadence series_cadence(const OutputConfig& output);
Cadence snapshot_cadence(const OutputConfig& output);

class Outputs {
 public:
  Outputs(const Config& config, const Decomposition& decomposition, const Comm& comm, bool overwrite);

  const std::string& directory() const { return directory_; }
  /// Empty, or why the directory could not be locked (rank 0).
  std::string lock_warning() const { return run_directory_ ? run_directory_->lock_warning() : ""; }

  /// The next time after t at which a file is due; steps must not pass it.
  double next_time(double t) const;
  bool series_due(std::int64_t step, double t) const { return series_cadence_.due(step, t); }
  bool snapshot_due(std::int64_t step, double t) const;

  /// A row of the state at time t, from which a step of size dt will be taken.
  void write_series(Solver& solver, std::int64_t step, double t, double dt);
  void write_snapshot_of(Solver& solver, std::int64_t step, double t, double dt);
  /// Collects the timing of this rank's step; rows are reduced over ranks and written in batches.
  void record_timing(const TimingRow& row);
  /// Seconds spent in series and snapshots since the last call.
  double take_output_seconds();

  /// Writes what is pending and the summary; `summary` receives the timing statistics.
  void finish(RunSummary& summary);

 private:
  void flush_timing();

  const Config& config_;
  Comm comm_;
  std::string directory_, resolved_config_;
  Cadence series_cadence_, snapshot_cadence_;

  // On rank 0 only:
  std::optional<RunDirectory> run_directory_;
  std::optional<Series> series_;
  std::optional<TimingLog> timing_log_;

  SnapshotWriter writer_;
  std::vector<TimingRow> timing_rows_;  ///< not yet reduced
  std::vector<float> step_seconds_;     ///< of all steps, maximum over ranks
  std::optional<std::int64_t> last_snapshot_step_;
  double output_seconds_ = 0, output_seconds_total_ = 0;
};

}  // namespace mhd
