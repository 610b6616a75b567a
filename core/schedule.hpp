#pragma once
// When something is due, and how long the next step may be: pure functions of step, time and cadence, so that a
// restarted run goes on as the unbroken one.

#include <cstdint>
#include <optional>

namespace mhd {

/// Every so many steps, or every so much time, or (neither set) never.
struct Cadence {
  std::optional<std::int64_t> steps;
  std::optional<double> interval;

  /// Whether the state after `step` steps at time t is one of the cadence. Step 0 and time 0 are.
  bool due(std::int64_t step, double t) const;
  /// The first time of the cadence after t; infinity without an interval.
  double next_time(double t) const;
};

struct StepChoice {
  double dt;
  double next_time;  ///< time after the step; exactly `target` where the step reaches it
};

/// A step of at most `natural_dt` from t that does not pass `target` (> t, may be infinity). A step that would end
/// within a billionth of itself from the target keeps its length.
StepChoice choose_step(double t, double natural_dt, double target);

}  // namespace mhd
