#include "core/schedule.hpp"

#include <cmath>
#include <limits>

namespace mhd {

namespace {
constexpr double tolerance = 1e-9;  // relative to the interval or the step: far above rounding, far below either
}

bool Cadence::due(std::int64_t step, double t) const {
  if (steps) return step % *steps == 0;
  if (interval) return std::abs(t / *interval - std::round(t / *interval)) <= tolerance;
  return false;
}

double Cadence::next_time(double t) const {
  if (!interval) return std::numeric_limits<double>::infinity();
  return (std::floor(t / *interval + tolerance) + 1) * *interval;
}

StepChoice choose_step(double t, double natural_dt, double target) {
  const double reached = t + natural_dt;
  if (reached < target - tolerance * natural_dt) return {natural_dt, reached};
  if (reached <= target + tolerance * natural_dt) return {natural_dt, target};
  return {target - t, target};
}

}  // namespace mhd
