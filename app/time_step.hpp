#pragma once
// The time step that the configuration asks for: fixed, or from the Courant condition over all ranks.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/error.hpp"
#include "core/solver.hpp"

namespace mhd {

class TimeStep {
 public:
  /// `config` may change between steps.
  TimeStep(const TimeConfig& config, const Comm& comm) : config_(config), comm_(comm) {}

  /// The step of the Courant condition that is in force, which a run that goes on from a checkpoint must know.
  std::optional<double> courant_dt() const { return dt_; }
  void set_courant_dt(std::optional<double> dt) { dt_ = dt; }

  /// Collective. The step from the present state, before it is shortened to meet an output; nothing where the Courant
  /// condition is not finite. The condition is evaluated every courant_interval steps and holds in between. Throws
  /// Error(numerics, everywhere) below time.min_dt and where t + dt = t.
  std::optional<double> natural(Solver& solver, std::int64_t step, double t) {
    if (config_.dt) return config_.dt;
    if (!dt_ || step % config_.courant_interval == 0) {
      const double rate = solver.courant_rate();
      // MPI's maximum does not carry NaN; infinity does as well.
      const double largest = comm_.maximum(std::isfinite(rate) ? rate : std::numeric_limits<double>::infinity());
      if (std::isinf(largest)) return std::nullopt;
      dt_ = 1 / largest;
    }
    if (*dt_ < config_.min_dt || t + *dt_ == t)
      throw Error(
          ExitCode::numerics,
          "the time step collapsed: after step " + std::to_string(step) + " (t = " + short_text(t) +
              ") the Courant condition asks for dt = " + short_text(*dt_) + ", " +
              (*dt_ < config_.min_dt ? "below time.min_dt = " + short_text(config_.min_dt) : "too small to change t"),
          ErrorScope::everywhere);
    return dt_;
  }

 private:
  static std::string short_text(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.6g", value);
    return text;
  }

  const TimeConfig& config_;
  Comm comm_;
  std::optional<double> dt_;
};

}  // namespace mhd
