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

Outputs::Outputs(const Config& config, const Decomposition& decomposition, const Comm& comm, bool overwrite)
    : config_(config),
      comm_(comm),
      directory_(config.output.directory),
      resolved_config_(to_toml(config)),
      series_cadence_(series_cadence(config.output)),
      snapshot_cadence_(snapshot_cadence(config.output)),
      writer_(config, decomposition, comm, resolved_config_) {
  agree(comm_, [&] {
    if (!comm_.root()) return;
    if (overwrite) require_input_elsewhere(config);
    run_directory_.emplace(directory_, overwrite);
    run_directory_->write_config(resolved_config_);
    series_.emplace(run_directory_->series(), diagnostic_columns(config.physics.fields()));
    timing_log_.emplace(run_directory_->timing());
  });
}

double Outputs::next_time(double t) const {
  return std::min(series_cadence_.next_time(t), snapshot_cadence_.next_time(t));
}

bool Outputs::snapshot_due(std::int64_t step, double t) const {
  return step == 0 ? config_.output.snapshot_at_start : snapshot_cadence_.due(step, t);
}

void Outputs::write_series(Solver& solver, std::int64_t step, double t, double dt) {
  const Stopwatch watch(output_seconds_);
  DiagnosticSums sums = solver.diagnostics();
  sums.reduce(comm_);
  const std::vector<double> values = diagnostic_values(config_.physics.fields(), sums, config_.grid.cells.product());
  agree(comm_, [&] {
    if (series_) series_->append(step, t, dt, values);
  });
}

void Outputs::write_snapshot_of(Solver& solver, std::int64_t step, double t, double dt) {
  if (last_snapshot_step_ == step) return;
  const Stopwatch watch(output_seconds_);
  // Every rank names the file alike; only rank 0 has the directory.
  const std::string path = comm_.broadcast(run_directory_ ? run_directory_->snapshot(step) : "");
  writer_.write(solver, path, run_directory_ ? run_directory_->xdmf() : "", step, t, dt);
  last_snapshot_step_ = step;
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
  {
    const Stopwatch watch(output_seconds_);
    writer_.wait();
  }
  take_output_seconds();
  const double to_ns = 1e9 / static_cast<double>(config_.grid.cells.product());
  std::vector<double> seconds(step_seconds_.begin(), step_seconds_.end());
  if (!seconds.empty()) {
    summary.ns_per_cell_step_median = median(seconds) * to_ns;
    summary.ns_per_cell_step_p90 = percentile(seconds, 0.9) * to_ns;
  }
  for (const double s : seconds) summary.seconds_stepping += s;
  summary.seconds_output = output_seconds_total_;
  summary.snapshots = writer_.files();
  agree(comm_, [&] {
    if (!run_directory_) return;
    series_->close();
    timing_log_->close();
    std::int64_t text_bytes = 0;
    for (const std::string& path : {run_directory_->series(), run_directory_->timing()})
      text_bytes += static_cast<std::int64_t>(std::filesystem::file_size(path));
    summary.bytes_output = text_bytes + writer_.bytes();
    write_summary(run_directory_->summary(), summary);
  });
}

}  // namespace mhd
