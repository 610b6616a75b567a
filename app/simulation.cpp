#include "app/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>

#include "app/backend.hpp"
#include "app/finite.hpp"
#include "app/initialise.hpp"
#include "app/outputs.hpp"
#include "app/report.hpp"
#include "app/time_step.hpp"
#include "app/version.hpp"
#include "core/decomposition.hpp"
#include "core/error.hpp"
#include "io/agree.hpp"

namespace mhd {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Simulation {
 public:
  Simulation(const Config& config, const Comm& comm, bool overwrite)
      : config_(config),
        comm_(comm),
        decomposition_(Grid(config.grid), comm.size(), config.grid.decomposition),
        chosen_(make_solver(config, decomposition_, comm)),
        solver_(*chosen_.solver),
        outputs_(config, decomposition_, comm, overwrite),
        time_step_(config.time, comm) {}

  int run() {
    const auto started = Clock::now();
    say(banner(config_, decomposition_, chosen_.description, outputs_.directory()));
    if (const std::string warning = outputs_.lock_warning(); !warning.empty()) say("warning: " + warning + "\n");
    initialise();
    Progress progress(config_);

    RunSummary summary = new_summary();
    try {
      while (true) {
        const auto step_started = Clock::now();
        const double natural_dt = natural_time_step();
        if (complete()) {
          write_last(natural_dt);
          break;
        }
        const StepChoice choice = choose_step(t_, natural_dt, next_target());
        write_due(choice.dt);
        const double output = outputs_.take_output_seconds();
        solver_.step(choice.dt);
        dt_ = choice.dt;
        t_ = choice.next_time;
        ++step_;
        if (step_ % config_.run.check_interval == 0 || file_due()) require_finite();
        timed_steps_.push_back({step_, seconds_since(step_started) - output, 0, 0, 0, output});
        record_timing(solver_.steps_ahead());
        if (comm_.root()) progress.after_step(step_, t_, dt_);
      }
      summary.status = "complete";
    } catch (const Error& e) {
      progress.close();
      if (e.scope() == ErrorScope::everywhere && e.code() == ExitCode::numerics) {
        summary.status = std::string("failed: ") + e.what();
        finish(summary, started);
      }
      throw;
    }
    progress.close();
    finish(summary, started);
    say(closing_text(summary, outputs_.directory()));
    return static_cast<int>(ExitCode::complete);
  }

 private:
  void say(const std::string& text) const {
    if (comm_.root()) tell(text);
  }

  void initialise() {
    bool finite = true;
    for_each_initial_field(
        config_, decomposition_.box(comm_.rank()), comm_, [&](int slot, std::span<const double> values) {
          finite = finite && std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
          solver_.set_field(slot, values);
        });
    if (comm_.minimum(std::int64_t{finite}) == 0)
      throw_not_finite(solver_, decomposition_, config_.physics.fields(), comm_, step_, t_);
  }

  bool complete() const {
    return (config_.time.end && t_ >= *config_.time.end) ||
           (config_.time.max_steps && step_ >= *config_.time.max_steps);
  }
  double next_target() const {
    const double end = config_.time.end.value_or(std::numeric_limits<double>::infinity());
    return std::min(end, outputs_.next_time(t_));
  }
  bool file_due() const { return complete() || outputs_.series_due(step_, t_) || outputs_.snapshot_due(step_, t_); }

  double natural_time_step() {
    const auto dt = time_step_.natural(solver_, step_, t_);
    if (!dt) throw_not_finite(solver_, decomposition_, config_.physics.fields(), comm_, step_, t_);
    return *dt;
  }
  void require_finite() {
    if (comm_.minimum(std::int64_t{solver_.finite()}) == 0)
      throw_not_finite(solver_, decomposition_, config_.physics.fields(), comm_, step_, t_);
  }

  void write_due(double dt) {
    if (outputs_.series_due(step_, t_)) outputs_.write_series(solver_, step_, t_, dt);
    if (outputs_.snapshot_due(step_, t_)) outputs_.write_snapshot_of(solver_, step_, t_, dt_);
  }
  void write_last(double natural_dt) {
    outputs_.write_series(solver_, step_, t_, natural_dt);
    if (config_.output.snapshot_at_end || outputs_.snapshot_due(step_, t_))
      outputs_.write_snapshot_of(solver_, step_, t_, dt_);
  }

  RunSummary new_summary() const {
    RunSummary s;
    s.cells = config_.grid.cells;
    s.order = config_.grid.order;
    s.fields = config_.physics.fields().count();
    s.ranks = comm_.size();
    s.decomposition = decomposition_.subdomains();
    s.backend = chosen_.backend;
    const BuildInfo build = build_info();
    s.version = build.version;
    s.revision = build.revision;
    return s;
  }
  /// Completes the rows of all but the last `ahead` steps, which the backend may still be working on.
  void record_timing(int ahead) {
    while (static_cast<int>(timed_steps_.size()) > ahead) {
      TimingRow row = timed_steps_.front();
      const StepTiming timing = solver_.timing(static_cast<int>(timed_steps_.size()) - 1);
      row.compute = timing.compute;
      row.exchange = timing.exchange;
      row.wait = timing.wait;
      outputs_.record_timing(row);
      timed_steps_.pop_front();
    }
  }

  void finish(RunSummary& summary, Clock::time_point started) {
    record_timing(0);
    summary.steps = step_;
    summary.t = t_;
    summary.dt = dt_;
    summary.seconds_total = seconds_since(started);
    outputs_.finish(summary);
  }

  const Config& config_;
  const Comm& comm_;
  Decomposition decomposition_;
  ChosenSolver chosen_;
  Solver& solver_;
  Outputs outputs_;
  TimeStep time_step_;
  std::int64_t step_ = 0;
  double t_ = 0;
  double dt_ = 0;                      ///< the last step taken
  std::deque<TimingRow> timed_steps_;  ///< whose timing the backend has not been asked for
};

}  // namespace

int run_simulation(const Config& config, const Comm& comm, bool overwrite) {
  return Simulation(config, comm, overwrite).run();
}

}  // namespace mhd
