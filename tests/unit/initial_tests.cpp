#include "core/initial.hpp"

#include <cmath>
#include <functional>
#include <numbers>

#include "core/decomposition.hpp"
#include "core/error.hpp"
#include "core/philox.hpp"
#include "core/plane_wave.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

constexpr double pi = std::numbers::pi;

std::vector<double> values(const Config& config, const Box& box, Field field, double before = 0) {
  std::vector<double> out(static_cast<std::size_t>(box.volume()), before);
  initial_field(config, Grid(config.grid), box, field, out);
  return out;
}

std::vector<double> values(const Config& config, Field field) { return values(config, Grid(config.grid).box(), field); }

Config make_config(InitialKind kind, Int3 cells = {24, 20, 16}) {
  Config config;
  config.grid.cells = cells;
  config.initial.kind = kind;
  config.initial.amplitude = 0.3;
  config.physics.external_field = {0.5, -0.2, 0.7};
  return config;
}

using Function = std::function<double(double, double, double)>;

/// Largest difference between a field and a function of (x, y, z).
double difference(const Config& config, Field field, const Function& expected) {
  const Grid grid(config.grid);
  const std::vector<double> found = values(config, field);
  double largest = 0;
  std::size_t c = 0;
  for (int k = 0; k < grid.cells.z; ++k)
    for (int j = 0; j < grid.cells.y; ++j)
      for (int i = 0; i < grid.cells.x; ++i)
        largest = std::max(largest, std::abs(found[c++] - expected(grid.coordinate(0, i), grid.coordinate(1, j),
                                                                   grid.coordinate(2, k))));
  return largest;
}

/// Spectrally accurate for a field whose only wave numbers along the axis are 0 and +-n per box length: (f_i+1 - f_i-1)
/// is then exactly 2 sin(k d)/k times the derivative.
std::vector<double> derivative(const Config& config, const std::vector<double>& f, int axis, int n) {
  const Grid grid(config.grid);
  const Int3 cells = grid.cells;
  const double k = 2 * pi * n / grid.size[axis];
  const double factor = n == 0 ? 0 : k / (2 * std::sin(k * grid.spacing(axis)));
  const auto at = [&](Int3 c) { return f[c.x + cells.x * (c.y + cells.y * c.z)]; };
  std::vector<double> result;
  for (int z = 0; z < cells.z; ++z)
    for (int y = 0; y < cells.y; ++y)
      for (int x = 0; x < cells.x; ++x) {
        Int3 up{x, y, z}, down{x, y, z};
        up[axis] = (up[axis] + 1) % cells[axis];
        down[axis] = (down[axis] + cells[axis] - 1) % cells[axis];
        result.push_back(factor * (at(up) - at(down)));
      }
  return result;
}

/// One component of the curl of A, for fields with wave numbers 0 and +-n.
std::vector<double> curl(const Config& config, int component, Int3 n) {
  const int b = (component + 1) % 3, c = (component + 2) % 3;
  const auto potential = [](int axis) { return static_cast<Field>(static_cast<int>(Field::ax) + axis); };
  std::vector<double> result = derivative(config, values(config, potential(c)), b, n[b]);
  const std::vector<double> other = derivative(config, values(config, potential(b)), c, n[c]);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] -= other[i];
  return result;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b, double factor = 1) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - factor * b[i]));
  return largest;
}

double largest_magnitude(const std::vector<double>& a) { return largest_difference(a, a, 0); }

/// A few roundings of values of order one.
constexpr double rounding = 1e-14;

}  // namespace

TEST_CASE("Philox gives the published known answers", "[initial]") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) == PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("every initial condition gives the same bits on every decomposition", "[initial]") {
  for (InitialKind kind : {InitialKind::uniform, InitialKind::random, InitialKind::sound_wave, InitialKind::alfven_wave,
                           InitialKind::beltrami, InitialKind::abc_flow, InitialKind::orszag_tang,
                           InitialKind::taylor_green, InitialKind::snapshot}) {
    Config config = make_config(kind, {13, 11, 9});
    config.initial.wave_vector = {1, -2, 1};
    config.initial.modes = {{Field::ux, 0.7, {{false, {1, 2, 0}, 0.4}, {true, {0, 1, 3}, 0}}}};
    config.initial.noise_fields = {Field::ux, Field::ss};
    config.initial.noise_amplitude = 1e-3;
    const Grid grid(config.grid);
    for (Field field : {Field::lnrho, Field::ux, Field::uz, Field::ax, Field::ay, Field::ss}) {
      const std::vector<double> whole = values(config, field);
      for (Int3 parts : {Int3{4, 1, 1}, Int3{1, 3, 2}, Int3{2, 2, 3}}) {
        const Decomposition decomposition(grid, static_cast<int>(parts.product()), parts);
        for (int rank = 0; rank < decomposition.ranks(); ++rank) {
          const Box box = decomposition.box(rank);
          const std::vector<double> part = values(config, box, field);
          std::vector<double> expected;
          for (int k = box.lower.z; k < box.upper.z; ++k)
            for (int j = box.lower.y; j < box.upper.y; ++j)
              for (int i = box.lower.x; i < box.upper.x; ++i) expected.push_back(whole[i + 13 * (j + 11 * k)]);
          REQUIRE(part == expected);
        }
      }
    }
  }
}

TEST_CASE("phases are exactly periodic and symmetric", "[initial]") {
  const Box cells{{0, 0, 0}, {12, 1, 1}}, next_period{{12, 0, 0}, {24, 1, 1}};
  const PlaneWave wave({12, 1, 1}, cells, {5, 0, 0}), again({12, 1, 1}, next_period, {5, 0, 0});
  for (int i = 0; i < 12; ++i) {
    CHECK(wave.at(i, 0, 0).sine == again.at(i + 12, 0, 0).sine);
    CHECK(wave.at(i, 0, 0).sine == -wave.at(11 - i, 0, 0).sine);
    CHECK(wave.at(i, 0, 0).cosine == wave.at(11 - i, 0, 0).cosine);
  }
  for (int i = -40; i < 40; ++i) {
    const Phasor phasor = phasor_of_turn(i, 16);
    CHECK(std::abs(phasor.sine - std::sin(2 * pi * i / 16)) < rounding);
    CHECK(std::abs(phasor.cosine - std::cos(2 * pi * i / 16)) < rounding);
  }
  CHECK(phasor_of_turn(3, 6).sine == 0);
  CHECK(phasor_of_turn(3, 12).cosine == 0);
  CHECK(phasor_of_turn(1, 8).sine == phasor_of_turn(1, 8).cosine);
}

TEST_CASE("random fills the range, differs between fields and seeds, and is evenly distributed", "[initial]") {
  Config config = make_config(InitialKind::random, {32, 32, 32});
  config.initial.low = -2;
  config.initial.high = 3;
  const std::vector<double> a = values(config, Field::lnrho);
  double sum = 0, squares = 0;
  for (double v : a) {
    REQUIRE(v >= -2);
    REQUIRE(v < 3);
    sum += v;
    squares += v * v;
  }
  const double count = static_cast<double>(a.size()), mean = sum / count;
  // Standard errors for 32768 samples: 5/sqrt(12)/181 = 0.008 of the mean; 25 sqrt(1/180)/181 = 0.0103 of the variance.
  CHECK(std::abs(mean - 0.5) < 5 * 0.008);
  CHECK(std::abs(squares / count - mean * mean - 25.0 / 12) < 5 * 0.0103);
  CHECK(a != values(config, Field::ux));
  config.initial.seed = 2;
  CHECK(a != values(config, Field::lnrho));
  config.initial.seed = 1;
  CHECK(a == values(config, Field::lnrho));
}

TEST_CASE("noise is bounded, is added on top, and does not repeat the random field", "[initial]") {
  Config config = make_config(InitialKind::uniform);
  config.initial.velocity = {0.25, 0, 0};
  config.initial.noise_fields = {Field::ux};
  config.initial.noise_amplitude = 0.5;
  const std::vector<double> noisy = values(config, Field::ux);
  double lowest = 1, highest = -1;
  for (double v : noisy) {
    lowest = std::min(lowest, v);
    highest = std::max(highest, v);
  }
  // 7680 samples: the extremes lie within 0.2 % of the range of its ends but for a chance of exp(-15).
  CHECK(lowest >= -0.25);
  CHECK(lowest < -0.248);
  CHECK(highest < 0.75);
  CHECK(highest > 0.748);
  CHECK(largest_magnitude(values(config, Field::uy)) == 0);
  Config random = config;
  random.initial.kind = InitialKind::random;
  random.initial.low = -0.25;
  random.initial.high = 0.75;
  random.initial.noise_fields.clear();
  CHECK(largest_difference(noisy, values(random, Field::ux)) > 0.5);
}

TEST_CASE("uniform is the background density and velocity", "[initial]") {
  Config config = make_config(InitialKind::uniform);
  config.physics.reference_density = 2.5;
  config.initial.velocity = {1, 2, -3};
  CHECK(difference(config, Field::lnrho, [](double, double, double) { return std::log(2.5); }) == 0);
  CHECK(difference(config, Field::uz, [](double, double, double) { return -3.0; }) == 0);
  CHECK(difference(config, Field::ss, [](double, double, double) { return 0.0; }) == 0);
  CHECK(difference(config, Field::ay, [](double, double, double) { return 0.0; }) == 0);
  config.initial.density = 0.5;
  CHECK(difference(config, Field::lnrho, [](double, double, double) { return std::log(0.5); }) == 0);
}

TEST_CASE("modes are products of sines and cosines about the origin of the box", "[initial]") {
  Config config = make_config(InitialKind::snapshot);
  config.grid.size = {2, 3, 5};
  config.grid.origin = {0.3, -0.4, 7};
  config.initial.modes = {{Field::uy, 0.5, {{false, {1, 0, 2}, 0.7}, {true, {0, -3, 0}, -0.2}}},
                          {Field::uz, 9.0, {}},
                          {Field::uy, -0.25, {}}};
  const auto expected = [](double x, double y, double z) {
    return 1.5 - 0.25 +
           0.5 * std::sin(2 * pi * ((x - 0.3) / 2 + 2 * (z - 7) / 5) + 0.7) *
               std::cos(-2 * pi * 3 * (y + 0.4) / 3 - 0.2);
  };
  // The values of the snapshot, here 1.5, are what the modes are added to.
  const Grid grid(config.grid);
  const std::vector<double> found = values(config, grid.box(), Field::uy, 1.5);
  std::size_t c = 0;
  for (int k = 0; k < grid.cells.z; ++k)
    for (int j = 0; j < grid.cells.y; ++j)
      for (int i = 0; i < grid.cells.x; ++i)
        REQUIRE(std::abs(found[c++] - expected(grid.coordinate(0, i), grid.coordinate(1, j), grid.coordinate(2, k))) <
                rounding);
}

TEST_CASE("a sound wave moves along its wave vector with the background's sound speed", "[initial]") {
  Config config = make_config(InitialKind::sound_wave);
  config.grid.size = {2, 4, 1};
  config.grid.origin = {0, 0, 0};
  config.initial.wave_vector = {1, -1, 0};  // k = pi (1, -1/2, 0)
  config.initial.velocity = {0, 0, 0.5};
  config.physics.sound_speed = 3;
  const auto phase = [](double x, double y) { return pi * x - pi / 2 * y; };
  const double norm = std::sqrt(1.25);
  const auto check = [&](double density, double sound_speed) {
    CHECK(difference(config, Field::lnrho, [&](double x, double y, double) {
            return std::log(density) + 0.3 * std::sin(phase(x, y));
          }) < rounding);
    CHECK(difference(config, Field::uy, [&](double x, double y, double) {
            return -0.5 / norm * 0.3 * sound_speed * std::sin(phase(x, y));
          }) < rounding);
    CHECK(difference(config, Field::uz, [](double, double, double) { return 0.5; }) == 0);
  };
  check(1, 3);
  config.initial.density = 8;  // cs = cs0 8^((gamma - 1)/2) with gamma - 1 = 2/3
  check(8, 6);
  config.physics.equation_of_state = EquationOfState::isothermal;
  check(8, 3);
}

TEST_CASE("the Alfven wave is that of the reference case alfven_cp", "[initial]") {
  Config config = make_config(InitialKind::alfven_wave, {16, 16, 16});
  config.grid.origin = {0, 0, 0};
  config.initial.amplitude = 0.1;
  config.initial.wave_vector = {1, 2, 2};
  config.physics.external_field = {1.0 / 3, 2.0 / 3, 2.0 / 3};
  const auto v = [](int component, double phase) {
    const double e1[] = {0, 1, -1}, e2[] = {-4, 1, 1};
    return (e1[component] * std::cos(phase) + e2[component] / 3 * std::sin(phase)) / std::numbers::sqrt2;
  };
  for (int axis = 0; axis < 3; ++axis) {
    const auto u = static_cast<Field>(static_cast<int>(Field::ux) + axis);
    const auto a = static_cast<Field>(static_cast<int>(Field::ax) + axis);
    const auto wave = [&](double amplitude) {
      return [&v, axis, amplitude](double x, double y, double z) { return amplitude * v(axis, x + 2 * y + 2 * z); };
    };
    CHECK(difference(config, u, wave(-0.1)) < rounding);
    CHECK(difference(config, a, wave(-0.1 / 3)) < rounding);
    // curl A = b v: A, u and the field of the wave are parallel.
    CHECK(largest_difference(curl(config, axis, {1, 2, 2}), values(config, a), -3) < rounding);
  }
  SECTION("u changes sign with the external field, b and the density scale it") {
    const std::vector<double> along = values(config, Field::ux);
    config.physics.external_field = {-2.0 / 3, -4.0 / 3, -4.0 / 3};
    config.physics.mu0 = 4;
    config.initial.density = 4;
    CHECK(largest_difference(values(config, Field::ux), along, -0.5) < rounding);
  }
}

TEST_CASE("the curl of the Alfven wave is right for any wave vector and box", "[initial]") {
  for (Int3 n : {Int3{1, 0, 0}, Int3{0, -1, 0}, Int3{0, 0, 2}, Int3{2, -1, 1}, Int3{-1, 2, 3}}) {
    Config config = make_config(InitialKind::alfven_wave);
    config.grid.size = {2 * pi, 3, 5};
    config.initial.wave_vector = n;
    const Real3 k{n.x * 1.0, 2 * pi * n.y / 3, 2 * pi * n.z / 5};
    const double norm = std::sqrt(k.x * k.x + k.y * k.y + k.z * k.z);
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<Field>(static_cast<int>(Field::ax) + axis);
      CHECK(largest_difference(curl(config, axis, n), values(config, a), -norm) < rounding);
    }
  }
}

TEST_CASE("a wave without direction or field along it is refused", "[initial]") {
  Config config = make_config(InitialKind::sound_wave);
  config.initial.wave_vector = {0, 0, 0};
  CHECK_THROWS_AS(kind_modes(config), Error);
  config.initial.kind = InitialKind::alfven_wave;
  config.initial.wave_vector = {0, 0, 1};
  config.physics.external_field = {1, 1, 0};
  CHECK_THROWS_AS(kind_modes(config), Error);
}

TEST_CASE("beltrami is an eigenfunction of the curl and abc_flow its flow", "[initial]") {
  Config config = make_config(InitialKind::beltrami);
  config.initial.wave = 2;
  const auto expected = [](double, double y, double z) {
    return 0.3 * (std::sin(2 * (z + pi)) + std::cos(2 * (y + pi)));
  };
  CHECK(difference(config, Field::ax, expected) < rounding);
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<Field>(static_cast<int>(Field::ax) + axis);
    const auto u = static_cast<Field>(static_cast<int>(Field::ux) + axis);
    const std::vector<double> field = values(config, a);
    CHECK(largest_difference(curl(config, axis, {2, 2, 2}), field, 2) < rounding);
    Config flow = config;
    flow.initial.kind = InitialKind::abc_flow;
    CHECK(values(flow, u) == field);
    CHECK(largest_magnitude(values(flow, a)) == 0);
  }
}

TEST_CASE("orszag_tang is the vortex of the reference case", "[initial]") {
  Config config = make_config(InitialKind::orszag_tang, {32, 32, 1});
  config.grid.origin = {0, 0, 0};
  config.initial.amplitude = 1;
  CHECK(difference(config, Field::ux, [](double, double y, double) { return -std::sin(y); }) < rounding);
  CHECK(difference(config, Field::uy, [](double x, double, double) { return std::sin(x); }) < rounding);
  CHECK(difference(config, Field::az, [](double x, double y, double) { return std::cos(y) + 0.5 * std::cos(2 * x); }) <
        rounding);
  // In other boxes the magnetic field keeps its amplitude: Bx = -sin Y.
  config.grid.size = {3, 5, 1};
  const std::vector<double> bx = derivative(config, values(config, Field::az), 1, 1);
  CHECK(largest_difference(bx, values(config, Field::ux)) < rounding);
}

TEST_CASE("taylor_green has its field as the curl of A and a flow without divergence", "[initial]") {
  Config config = make_config(InitialKind::taylor_green);
  config.grid.origin = {0, 0, 0};
  const double b0 = 0.3 / std::numbers::sqrt3;
  const std::array<Function, 3> field = {
      [&](double x, double y, double z) { return b0 * std::cos(x) * std::sin(y) * std::sin(z); },
      [&](double x, double y, double z) { return b0 * std::sin(x) * std::cos(y) * std::sin(z); },
      [&](double x, double y, double z) { return -2 * b0 * std::sin(x) * std::sin(y) * std::cos(z); }};
  CHECK(difference(config, Field::ux, [](double x, double y, double z) {
          return 0.3 * std::sin(x) * std::cos(y) * std::cos(z);
        }) < rounding);
  const Grid grid(config.grid);
  for (int axis = 0; axis < 3; ++axis) {
    const std::vector<double> found = curl(config, axis, {1, 1, 1});
    double largest = 0;
    std::size_t c = 0;
    for (int k = 0; k < grid.cells.z; ++k)
      for (int j = 0; j < grid.cells.y; ++j)
        for (int i = 0; i < grid.cells.x; ++i)
          largest = std::max(largest, std::abs(found[c++] - field[axis](grid.coordinate(0, i), grid.coordinate(1, j),
                                                                        grid.coordinate(2, k))));
    CHECK(largest < rounding);
  }
  config.grid.size = {2, 3, 5};
  const std::vector<double> divergence_x = derivative(config, values(config, Field::ux), 0, 1);
  CHECK(largest_magnitude(divergence_x) > 0.1);
  CHECK(largest_difference(divergence_x, derivative(config, values(config, Field::uy), 1, 1), -1) < rounding);
}

TEST_CASE("room of the wrong size is refused", "[initial]") {
  const Config config = make_config(InitialKind::uniform);
  std::vector<double> out(7);
  CHECK_THROWS_AS(initial_field(config, Grid(config.grid), Grid(config.grid).box(), Field::ux, out), Error);
}
