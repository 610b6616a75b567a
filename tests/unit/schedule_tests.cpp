// When files are due and how long steps may be.

#include <limits>

#include "core/schedule.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {
constexpr double never = std::numeric_limits<double>::infinity();
}

TEST_CASE("A cadence in steps is due at its multiples and does not bound the time step") {
  const Cadence c{10, std::nullopt};
  CHECK(c.due(0, 0.0));
  CHECK(c.due(20, 0.123));
  CHECK_FALSE(c.due(21, 0.5));
  CHECK(c.next_time(0.3) == never);
}

TEST_CASE("A cadence in time is due at its multiples and names the next one") {
  const Cadence c{std::nullopt, 0.1};
  CHECK(c.due(7, 0.0));
  CHECK(c.due(7, 3 * 0.1));
  CHECK(c.due(7, 0.3 - 1e-16));
  CHECK_FALSE(c.due(7, 0.3001));
  CHECK(c.next_time(0.0) == 0.1);
  CHECK(c.next_time(0.1) == 0.2);
  CHECK(c.next_time(0.1 - 1e-17) == 0.2);  // 0.1 has been reached up to rounding
  CHECK(c.next_time(0.15) == 0.2);
}

TEST_CASE("No cadence is never due") {
  const Cadence c;
  CHECK_FALSE(c.due(0, 0.0));
  CHECK(c.next_time(0.0) == never);
}

TEST_CASE("Steps reach a target exactly and keep their length where they would within rounding") {
  double t = 0;
  int steps = 0;
  while (t < 1.0) {
    const StepChoice s = choose_step(t, 0.01, 1.0);
    CHECK(s.dt == 0.01);
    t = s.next_time;
    ++steps;
  }
  CHECK(steps == 100);
  CHECK(t == 1.0);

  const StepChoice shortened = choose_step(0.995, 0.01, 1.0);
  CHECK(shortened.dt == 1.0 - 0.995);
  CHECK(shortened.next_time == 1.0);
  CHECK(choose_step(0.5, 0.01, never).next_time == 0.51);
}
