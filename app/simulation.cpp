#include "app/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <optional>

#include "app/backend.hpp"
#include "app/finite.hpp"
#include "app/initialise.hpp"
#include "app/outputs.hpp"
#include "app/reload.hpp"
#include "app/report.hpp"
#include "app/requests.hpp"
#include "app/restart.hpp"
#include "app/time_step.hpp"
#include "app/version.hpp"
#include "app/watchdog.hpp"
#include "core/decomposition.hpp"
#include "core/error.hpp"
#include "io/agree.hpp"

namespace mhd {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Simulation {
 public:
  Simulation(const Config& config, const Comm& comm, const RunOptions& options)
      : config_(config),
        comm_(comm),
        options_(options),
        decomposition_(Grid(config.grid), comm.size(), config.grid.decomposition),
        chosen_(make_solver(config, decomposition_, comm)),
        solver_(*chosen_.solver),
        outputs_(config_, decomposition_, comm, earlier_run(options, config, comm)),
        time_step_(config_.time, comm),
        requests_(comm, options, outputs_.stop_request(), outputs_.reload_request()),
        watchdog_(config.run.stall_timeout, comm.rank()) {}

  int run() {
    say(banner(config_, decomposition_, chosen_.description + chosen_.placement, outputs_.directory()));
    note(outputs_.lock_warning());
    begin();
    RunSummary summary = new_summary();
    ExitCode code = ExitCode::complete;
    try {
      while (true) {
        const auto step_started = Clock::now();
        watchdog_.now("computing", state_.step);
        const Request request = ask();
        if (request.reload) take_over_configuration();
        const double natural_dt = natural_time_step();
        if (complete()) {
          write_last(natural_dt);
          break;
        }
        const StepChoice choice = choose_step(state_.t, natural_dt, next_target());
        write_due(choice.dt);
        if (request.stop || request.checkpoint || outputs_.checkpoint_due(state_.step)) write_checkpoint();
        if (request.stop) {
          code = ExitCode::stopped;
          break;
        }
        const double output = outputs_.take_output_seconds();
        solver_.step(choice.dt);
        outputs_.finish_series(solver_);
        timed_steps_.push_back({state_.step + 1, seconds_since(step_started) - output, 0, 0, 0, output});
        state_ = {state_.step + 1, choice.next_time, choice.dt, {}};
        if (state_.step % config_.run.check_interval == 0 || file_due()) require_finite();
        record_timing(solver_.steps_ahead());
        if (comm_.root()) progress_->after_step(state_.step, state_.t, state_.dt);
      }
    } catch (const Error& e) {
      progress_->close();
      if (e.scope() == ErrorScope::everywhere && e.code() == ExitCode::numerics) {
        summary.status = std::string("failed: ") + e.what();
        finish(summary);
      }
      throw;
    }
    progress_->close();
    summary.status = code == ExitCode::stopped ? "stopped: " + requests_.reason() : "complete";
    finish(summary);
    if (code == ExitCode::stopped) requests_.obeyed();
    say(closing_text(summary, outputs_.directory()));
    return static_cast<int>(code);
  }

 private:
  void say(const std::string& text) const {
    if (comm_.root()) tell(text);
  }
  /// A line, if there is one.
  void note(const std::string& text) const {
    if (!text.empty()) say(text + "\n");
  }

  void begin() {
    std::optional<std::int64_t> restart_step;
    watchdog_.now("reading or making the initial state", 0);
    if (options_.restart.empty()) {
      initialise();
    } else {
      const Restored restored = restore(options_, config_, decomposition_, comm_, solver_);
      for (const std::string& text : restored.notes) note(text);
      state_ = restored.state;
      time_step_.set_courant_dt(state_.courant_dt);
      restart_step = state_.step;
    }
    for (const std::string& text : outputs_.begin(restart_step)) note(text);
    progress_.emplace(config_, state_.step, state_.t);
  }

  void initialise() {
    bool finite = true;
    for_each_initial_field(
        config_, decomposition_.box(comm_.rank()), comm_, [&](int slot, std::span<const double> values) {
          finite = finite && std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
          solver_.set_field(slot, values);
        });
    if (comm_.minimum(std::int64_t{finite}) == 0)
      throw_not_finite(solver_, decomposition_, config_.physics.fields(), comm_, state_.step, state_.t);
  }

  bool complete() const {
    return (config_.time.end && state_.t >= *config_.time.end) ||
           (config_.time.max_steps && state_.step >= *config_.time.max_steps);
  }
  double next_target() const {
    const double end = config_.time.end.value_or(std::numeric_limits<double>::infinity());
    return std::min(end, outputs_.next_time(state_.t));
  }
  bool file_due() const {
    return complete() || outputs_.series_due(state_.step, state_.t) || outputs_.snapshot_due(state_.step, state_.t);
  }

  double natural_time_step() {
    const auto dt = time_step_.natural(solver_, state_.step, state_.t);
    if (!dt) throw_not_finite(solver_, decomposition_, config_.physics.fields(), comm_, state_.step, state_.t);
    return *dt;
  }
  void require_finite() {
    if (comm_.minimum(std::int64_t{solver_.finite()}) == 0)
      throw_not_finite(solver_, decomposition_, config_.physics.fields(), comm_, state_.step, state_.t);
  }

  void write_due(double dt) {
    if (file_due()) watchdog_.now("writing", state_.step);
    if (outputs_.series_due(state_.step, state_.t)) outputs_.start_series(solver_, state_.step, state_.t, dt);
    if (outputs_.snapshot_due(state_.step, state_.t)) outputs_.write_snapshot_of(solver_, state_);
  }
  void write_last(double natural_dt) {
    watchdog_.now("writing the last files", state_.step);
    outputs_.start_series(solver_, state_.step, state_.t, natural_dt);
    outputs_.finish_series(solver_);
    if (config_.output.snapshot_at_end || outputs_.snapshot_due(state_.step, state_.t))
      outputs_.write_snapshot_of(solver_, state_);
    if (config_.output.checkpoint_at_end || outputs_.checkpoint_due(state_.step)) write_checkpoint();
  }
  void write_checkpoint() {
    watchdog_.now("writing a checkpoint", state_.step);
    require_finite();
    outputs_.finish_series(solver_);
    record_timing(0);
    state_.courant_dt = time_step_.courant_dt();
    outputs_.write_checkpoint_of(solver_, state_);
    requests_.checkpoint_written();
  }

  Request ask() { return requests_.ask(state_.step, config_.output.checkpoint_every_seconds, outputs_.reserve()); }
  void take_over_configuration() {
    const Reloaded reloaded = reload(config_, options_.reload, comm_);
    if (comm_.root()) progress_->close();
    say(reloaded.text);
    if (!reloaded.config) return;
    config_ = *reloaded.config;
    outputs_.reconfigure();
    progress_.emplace(config_, state_.step, state_.t);
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
      // The host has only queued the step of a backend that runs ahead; that one's own clock knows better.
      row.seconds = std::max(row.seconds, timing.compute + timing.exchange + timing.wait);
      outputs_.record_timing(row);
      timed_steps_.pop_front();
    }
  }

  void finish(RunSummary& summary) {
    watchdog_.now("finishing the files", state_.step);
    record_timing(0);
    summary.steps = state_.step;
    summary.t = state_.t;
    summary.dt = state_.dt;
    summary.seconds_total = seconds_since(started_);
    outputs_.finish(summary);
  }

  const Clock::time_point started_ = Clock::now();
  Config config_;  ///< RELOAD changes it
  const Comm& comm_;
  const RunOptions& options_;
  Decomposition decomposition_;
  ChosenSolver chosen_;
  Solver& solver_;
  Outputs outputs_;
  TimeStep time_step_;
  Requests requests_;
  std::optional<Progress> progress_;
  RunState state_;
  Watchdog watchdog_;
  std::deque<TimingRow> timed_steps_;  ///< whose timing the backend has not been asked for
};

}  // namespace

int run_simulation(const Config& config, const Comm& comm, const RunOptions& options) {
  return Simulation(config, comm, options).run();
}

}  // namespace mhd
