#include "app/report.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "app/version.hpp"
#include "core/error.hpp"

namespace mhd {

void print_result(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) == EOF || std::fflush(stdout) != 0)
    throw Error(ExitCode::io, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

void tell(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string duration_text(double seconds) {
  const auto s = static_cast<std::int64_t>(std::max(0.0, seconds) + 0.5);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

namespace {

std::string physics_text(const PhysicsConfig& p) {
  return fmt::format("{}, {}", p.equation_of_state == EquationOfState::isothermal ? "isothermal" : "ideal gas",
                     p.magnetic ? "magnetic" : "not magnetic");
}

std::string time_text(const TimeConfig& t) {
  std::string text =
      t.dt ? fmt::format("dt = {}", *t.dt)
           : fmt::format("Courant condition ({} advective, {} diffusive)", t.courant_advective, t.courant_diffusive);
  if (t.end) text += fmt::format(", until t = {}", *t.end);
  if (t.max_steps) text += fmt::format(", at most {} steps", *t.max_steps);
  return text;
}

}  // namespace

std::string banner(const Config& config, const Decomposition& d, const std::string& backend,
                   const std::string& run_directory) {
  const BuildInfo build = build_info();
  const FieldSet fields = config.physics.fields();
  return fmt::format(
      "mhdsim {} ({})\n"
      "  grid           {} cells, order {}\n"
      "  physics        {}, {} fields\n"
      "  time           {}\n"
      "  ranks          {}, subdomains {} of up to {} cells\n"
      "  backend        {}\n"
      "  run directory  {}\n",
      build.version, build.revision, to_string(config.grid.cells), config.grid.order, physics_text(config.physics),
      fields.count(), time_text(config.time), d.ranks(), to_string(d.subdomains()), to_string(d.box(0).size()), backend,
      run_directory);
}

std::string closing_text(const RunSummary& s, const std::string& run_directory) {
  return fmt::format(
      "{}: {} steps to t = {:.6g} in {}, {:.4g} ns per cell and step (median), {:.1f} s of output\n"
      "files in {}\n",
      s.status, s.steps, s.t, duration_text(s.seconds_total), s.ns_per_cell_step_median, s.seconds_output,
      run_directory);
}

Progress::Progress(const Config& config, std::int64_t step, double t)
    : time_(config.time),
      cells_(static_cast<double>(config.grid.cells.product())),
      terminal_(isatty(STDOUT_FILENO) != 0),
      interval_(terminal_ ? std::min(config.run.report_seconds, 0.5) : config.run.report_seconds),
      started_(Clock::now()),
      printed_(started_),
      printed_step_(step),
      started_fraction_(fraction(step, t)) {}

double Progress::fraction(std::int64_t step, double t) const {
  double done = 0;
  if (time_.end && *time_.end > 0) done = t / *time_.end;
  if (time_.max_steps)
    done = std::max(done, static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(*time_.max_steps, 1)));
  return std::min(done, 1.0);
}

void Progress::after_step(std::int64_t step, double t, double dt) {
  const auto now = Clock::now();
  const double done = fraction(step, t);
  if (now - printed_ < interval_ && done < 1) return;
  const double since = std::chrono::duration<double>(now - printed_).count();
  const double ns = since * 1e9 / (cells_ * static_cast<double>(std::max<std::int64_t>(step - printed_step_, 1)));
  const double elapsed = std::chrono::duration<double>(now - started_).count();
  const double left = done > started_fraction_ ? elapsed * (1 - done) / (done - started_fraction_) : 0;
  const std::string line =
      fmt::format("step {:>7}  t {:<10.5g}  dt {:<9.3g}  {:>7.4g} ns/cell/step  {:>5.1f} %  left {}", step, t, dt, ns,
                  100 * done, duration_text(left));
  if (terminal_) {
    constexpr int width = 20;
    const int filled = static_cast<int>(std::lround(done * width));
    tell(fmt::format("\r\033[K[{}{}] {}", std::string(filled, '#'), std::string(width - filled, '.'), line));
    bar_open_ = true;
  } else {
    tell(line + "\n");
  }
  printed_ = now;
  printed_step_ = step;
}

void Progress::close() {
  if (bar_open_) tell("\n");
  bar_open_ = false;
}

}  // namespace mhd
