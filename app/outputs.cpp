#include "app/outputs.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "io/agree.hpp"
#include "io/config_file.hpp"

namespace mhd {
namespace {

constexpr std::size_t timing_batch = 64;  // steps between reductions of the timing over ranks
constexpr std::int64_t default_series_steps = 10;

/// Adds the time of a scope to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(double& sum) : sum_(sum), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& sum_;
  std::chrono::steady_clock::time_point start_;
};

/// Overwriting removes the files of the earlier run first, before the initial condition is read.
void require_input_elsewhere(const Config& config) {
  if (config.initial.kind != InitialKind::snapshot) return;
  const std::filesystem::path input = std::filesystem::absolute(config.initial.file).parent_path();
  std::error_code no_directory_yet;
  if (std::filesystem::equivalent(input, config.output.directory, no_directory_yet))
    throw Error(ExitCode::io, "initial.file " + config.initial.file + " lies in the run directory " +
                                  config.output.directory +
                                  ", whose outputs --overwrite removes: choose another run directory");
}

}  // namespace

Cadence series_cadence(const OutputConfig& o) {
  if (!o.series_every_steps && !o.series_every_time) return {default_series_steps, std::nullopt};
  return {o.series_every_steps, o.series_every_time};
}

Cadence snapshot_cadence(const OutputConfig& o) { return {o.snapshot_every_steps, o.snapshot_every_time}; }

Outputs::Outputs(const Config& config, const Decomposition& decomposition, const Comm& comm, EarlierRun earlier)
    : config_(config),
      comm_(comm),
      directory_(config.output.directory),
      resolved_config_(to_toml(config)),
      series_cadence_(series_cadence(config.output)),
      snapshot_cadence_(snapshot_cadence(config.output)),
      background_(config.physics.fields(), comm, config.output.overlap),
      snapshots_(config, decomposition, comm, background_),
      checkpoints_(config.physics.fields(), decomposition, comm, background_) {
  agree(comm_, [&] {
    if (!comm_.root()) return;
    if (earlier == EarlierRun::replace) require_input_elsewhere(config);
    run_directory_.emplace(directory_, earlier);
  });
}

std::vector<std::string> Outputs::begin(std::optional<std::int64_t> restart_step) {
  std::vector<std::string> notes;
  agree(comm_, [&] {
    if (!run_directory_) return;
    if (restart_step) notes = snapshots_.adopt(run_directory_->go_back_to(*restart_step), run_directory_->xdmf());
    run_directory_->write_config(resolved_config_);
    // The row of the state itself is written again; the step that led to it has been timed.
    const auto last_row = restart_step ? std::optional(*restart_step - 1) : std::nullopt;
    series_.emplace(run_directory_->series(), diagnostic_columns(config_.physics.fields()), last_row);
    timing_log_.emplace(run_directory_->timing(), restart_step);
  });
  const bool in_place =
      restart_step && run_directory_ && std::filesystem::exists(run_directory_->checkpoint(*restart_step));
  if (comm_.maximum(std::int64_t{in_place}) == 1) last_checkpoint_step_ = restart_step;
  return notes;
}

void Outputs::reconfigure() {
  wait();
  resolved_config_ = to_toml(config_);
  series_cadence_ = series_cadence(config_.output);
  snapshot_cadence_ = snapshot_cadence(config_.output);
  agree(comm_, [&] {
    if (run_directory_) run_directory_->write_config(resolved_config_);
  });
}

double Outputs::next_time(double t) const {
  return std::min(series_cadence_.next_time(t), snapshot_cadence_.next_time(t));
}

bool Outputs::snapshot_due(std::int64_t step, double t) const {
  return step == 0 ? config_.output.snapshot_at_start : snapshot_cadence_.due(step, t);
}

void Outputs::start_series(Solver& solver, std::int64_t step, double t, double dt) {
  const Stopwatch watch(output_seconds_);
  solver.start_diagnostics();
  started_row_ = {step, t, dt};
}

void Outputs::finish_series(Solver& solver) {
  if (!started_row_) return;
  const Stopwatch watch(output_seconds_);
  DiagnosticSums sums = solver.finish_diagnostics();
  sums.reduce(comm_);
  const std::vector<double> values = diagnostic_values(config_.physics.fields(), sums, config_.grid.cells.product());
  agree(comm_, [&] {
    if (series_) series_->append(started_row_->step, started_row_->t, started_row_->dt, values);
  });
  started_row_.reset();
}

void Outputs::write_snapshot_of(Solver& solver, const RunState& state) {
  if (last_snapshot_step_ == state.step) return;
  const Stopwatch watch(output_seconds_);
  const std::string path = shared(run_directory_ ? run_directory_->snapshot(state.step) : "");
  snapshots_.write(solver, config_, resolved_config_, path, run_directory_ ? run_directory_->xdmf() : "", state);
  last_snapshot_step_ = state.step;
}

bool Outputs::checkpoint_due(std::int64_t step) const {
  return step > 0 && config_.output.checkpoint_every_steps && step % *config_.output.checkpoint_every_steps == 0;
}

void Outputs::write_checkpoint_of(Solver& solver, const RunState& state) {
  if (last_checkpoint_step_ == state.step) return;
  flush_timing();
  const Stopwatch watch(output_seconds_);
  agree(comm_, [&] {
    if (series_) series_->sync();
    if (timing_log_) timing_log_->sync();
  });
  const std::string path = shared(run_directory_ ? run_directory_->checkpoint(state.step) : "");
  checkpoints_.write(solver, path, resolved_config_, config_.output.checkpoints_kept, state);
  last_checkpoint_step_ = state.step;
}

WriteReserve Outputs::reserve() const {
  const bool snapshots = snapshot_cadence_.steps || snapshot_cadence_.interval || config_.output.snapshot_at_end;
  return {checkpoints_.slowest_seconds(), snapshots ? snapshots_.slowest_seconds() : 0, background_.remaining()};
}

void Outputs::wait() {
  const Stopwatch watch(output_seconds_);
  background_.wait();
}

double Outputs::take_output_seconds() {
  const double seconds = output_seconds_;
  output_seconds_total_ += seconds;
  output_seconds_ = 0;
  return seconds;
}

void Outputs::record_timing(const TimingRow& row) {
  timing_rows_.push_back(row);
  if (timing_rows_.size() >= timing_batch) flush_timing();
}

void Outputs::flush_timing() {
  std::vector<double> values;
  for (const TimingRow& r : timing_rows_)
    values.insert(values.end(), {r.seconds, r.compute, r.exchange, r.wait, r.output});
  comm_.maximum(values);
  agree(comm_, [&] {
    for (std::size_t i = 0; i < timing_rows_.size(); ++i) {
      const double* v = values.data() + 5 * i;
      step_seconds_.push_back(static_cast<float>(v[0]));
      if (timing_log_) timing_log_->append({timing_rows_[i].step, v[0], v[1], v[2], v[3], v[4]});
    }
  });
  timing_rows_.clear();
}

void Outputs::finish(RunSummary& summary) {
  flush_timing();
  wait();
  take_output_seconds();
  const double to_ns = 1e9 / static_cast<double>(config_.grid.cells.product());
  std::vector<double> seconds(step_seconds_.begin(), step_seconds_.end());
  if (!seconds.empty()) {
    summary.ns_per_cell_step_median = median(seconds) * to_ns;
    summary.ns_per_cell_step_p90 = percentile(seconds, 0.9) * to_ns;
  }
  for (const double s : seconds) summary.seconds_stepping += s;
  summary.seconds_output = output_seconds_total_;
  summary.snapshots = snapshots_.files();
  agree(comm_, [&] {
    if (!run_directory_) return;
    series_->close();
    timing_log_->close();
    std::int64_t text_bytes = 0;
    for (const std::string& path : {run_directory_->series(), run_directory_->timing()})
      text_bytes += static_cast<std::int64_t>(std::filesystem::file_size(path));
    summary.bytes_output = text_bytes + snapshots_.bytes();
    write_summary(run_directory_->summary(), summary);
    if (summary.status != "complete") return;
    // Requests that came too late must not meet a run that goes on from here.
    for (const std::string& request : {stop_request(), reload_request()}) std::filesystem::remove(request);
  });
}

}  // namespace mhd
