#pragma once
// All files of a run: series, snapshots with their XDMF index, checkpoints, timing log, summary. Every member that
// writes is collective.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/background_writer.hpp"
#include "app/checkpoint_writer.hpp"
#include "app/snapshot_writer.hpp"
#include "app/write_times.hpp"
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
  /// Locks the run directory. `config` may change between calls of `reconfigure`.
  Outputs(const Config& config, const Decomposition& decomposition, const Comm& comm, EarlierRun earlier);
  /// Waits for the file in writing, whose writer is a member here.
  ~Outputs() { background_.join(); }
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;
  /// Starts the files; or, with the step of a checkpoint, goes on with those that are there, back to that step. Returns
  /// lines to be told (rank 0).
  std::vector<std::string> begin(std::optional<std::int64_t> restart_step);

  const std::string& directory() const { return directory_; }
  /// Files by which the user asks the run for something (rank 0).
  std::string stop_request() const { return run_directory_ ? run_directory_->stop_request() : ""; }
  std::string reload_request() const { return run_directory_ ? run_directory_->reload_request() : ""; }
  /// Empty, or why the directory could not be locked (rank 0).
  std::string lock_warning() const { return run_directory_ ? run_directory_->lock_warning() : ""; }

  /// The next time after t at which a file is due; steps must not pass it.
  double next_time(double t) const;
  bool series_due(std::int64_t step, double t) const { return series_cadence_.due(step, t); }
  bool snapshot_due(std::int64_t step, double t) const;

  /// Starts a row of the state at time t, from which a step of size dt will be taken.
  void start_series(Solver& solver, std::int64_t step, double t, double dt);
  /// Writes the row that was started, if any; afterwards, while the backend does the next step, nobody waits for it.
  void finish_series(Solver& solver);
  void write_snapshot_of(Solver& solver, const RunState& state);

  bool checkpoint_due(std::int64_t step) const;
  /// A checkpoint that the present state has already is not written again. Rows up to it, finished by now, are durable
  /// before it is.
  void write_checkpoint_of(Solver& solver, const RunState& state);
  /// Returns when everything that was handed over is on disk.
  void wait();
  /// What may still have to be written where the run stops now or soon.
  WriteReserve reserve() const;

  /// Follows the configuration after it has changed.
  void reconfigure();

  /// Collects the timing of this rank's step; rows are reduced over ranks and written in batches.
  void record_timing(const TimingRow& row);
  /// Seconds spent in series and snapshots since the last call.
  double take_output_seconds();

  /// Writes what is pending and the summary; `summary` receives the timing statistics.
  void finish(RunSummary& summary);

 private:
  void flush_timing();
  /// Every rank names a file alike; only rank 0 has the directory.
  std::string shared(const std::string& path) const { return comm_.broadcast(path); }

  const Config& config_;
  Comm comm_;
  std::string directory_, resolved_config_;
  Cadence series_cadence_, snapshot_cadence_;

  // On rank 0 only:
  std::optional<RunDirectory> run_directory_;
  std::optional<Series> series_;
  std::optional<TimingLog> timing_log_;

  BackgroundWriter background_;
  SnapshotWriter snapshots_;
  CheckpointWriter checkpoints_;
  std::vector<TimingRow> timing_rows_;  ///< not yet reduced
  std::vector<float> step_seconds_;     ///< of all steps, maximum over ranks
  std::optional<std::int64_t> last_snapshot_step_, last_checkpoint_step_;
  struct Row {
    std::int64_t step;
    double t, dt;
  };
  std::optional<Row> started_row_;
  double output_seconds_ = 0, output_seconds_total_ = 0;
};

}  // namespace mhd
