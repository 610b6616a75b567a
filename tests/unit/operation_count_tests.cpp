// The cost model of a step.

#include "core/operation_count.hpp"
#include "tests/catch.hpp"

using namespace mhd;

TEST_CASE("Full MHD moves 512 bytes per cell and step, fewer fields less") {
  CHECK(bytes_per_step({true, true}) == 512);
  CHECK(bytes_per_step({true, false}) == 448);
  CHECK(bytes_per_step({false, false}) == 256);
}

TEST_CASE("Operations grow with the order and with the fields") {
  for (int radius = 1; radius < 4; ++radius) {
    CHECK(flops_per_step(radius, {true, true}) < flops_per_step(radius + 1, {true, true}));
    CHECK(flops_per_step(radius, {false, true}) < flops_per_step(radius, {true, true}));
    CHECK(flops_per_step(radius, {true, false}) < flops_per_step(radius, {true, true}));
  }
  // One more point pair per derivative: 24 first, 24 second (two operations each pair), 12 mixed (four).
  const std::int64_t step =
      operations_per_substep(3, {true, true}).instructions() - operations_per_substep(2, {true, true}).instructions();
  CHECK(step == 24 * 2 + 24 * 2 + 12 * 4);
}
