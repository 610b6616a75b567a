// Every stencil converges at its nominal order, and coefficients satisfy their moment conditions.

#include <array>
#include <cmath>

#include "core/coefficients.hpp"
#include "core/config.hpp"
#include "core/derivatives.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

/// sin(x + 0.3) cos(2 y - 0.1) sin(z + 0.7) and its derivatives at a point, and what the stencils make of its samples.
struct Sample {
  double x, y, z, dx, dy, dz;
  static double f(double a, double b, double c) {
    return std::sin(a + 0.3) * std::cos(2 * b - 0.1) * std::sin(c + 0.7);
  }
  double operator()(int i, int j, int k) const { return f(x + i * dx, y + j * dy, z + k * dz); }
};

/// Errors of the gradient at one point, on a grid of n x (n + 4) x (n + 8) cells: three different spacings.
template <int R>
std::array<double, 3> gradient_errors(int n) {
  GridConfig config;
  config.cells = {n, n + 4, n + 8};
  config.order = 2 * R;
  const Grid grid(config);
  const Sample s{0.4, 1.1, -0.6, grid.spacing(0), grid.spacing(1), grid.spacing(2)};
  const double sx = std::sin(s.x + 0.3), cx = std::cos(s.x + 0.3), sy = std::sin(2 * s.y - 0.1),
               cy = std::cos(2 * s.y - 0.1), sz = std::sin(s.z + 0.7), cz = std::cos(s.z + 0.7);
  const double exact[3] = {cx * cy * sz, -2 * sx * sy * sz, sx * cy * cz};
  const auto scalar = scalar_derivatives<R, double>(stencil_coefficients(grid), s);
  std::array<double, 3> e;
  for (int i = 0; i < 3; ++i) e[i] = std::abs(scalar.gradient[i] - exact[i]);
  return e;
}

template <int R>
void check_order() {
  // Grids coarse enough that rounding (1e-13 with the coefficients of order 8) stays far below the error.
  constexpr int coarse = 24;
  const auto a = gradient_errors<R>(coarse), b = gradient_errors<R>(2 * coarse);
  // The grids of n + 4 and n + 8 cells are refined by less than two.
  const double finer[3] = {2.0, (2.0 * coarse + 4) / (coarse + 4), (2.0 * coarse + 8) / (coarse + 8)};
  for (int i = 0; i < 3; ++i) {
    CAPTURE(R, i);
    CHECK(std::abs(std::log2(a[i] / b[i]) / std::log2(finer[i]) - 2 * R) < 0.2);
  }
}

/// A cube, so that one refinement factor holds for the sums of derivatives.
template <int R>
void check_order_of_sums() {
  const auto error = [](int n, int which) {
    GridConfig config;
    config.cells = {n, n, n};
    config.order = 2 * R;
    const Grid grid(config);
    const StencilCoefficients c = stencil_coefficients(grid);
    const Sample s{0.4, 1.1, -0.6, grid.spacing(0), grid.spacing(1), grid.spacing(2)};
    const auto d = vector_derivatives<R, double>(c, s, s, s);
    const double sx = std::sin(s.x + 0.3), cx = std::cos(s.x + 0.3), sy = std::sin(2 * s.y - 0.1),
                 cy = std::cos(2 * s.y - 0.1), sz = std::sin(s.z + 0.7), cz = std::cos(s.z + 0.7);
    const double f = sx * cy * sz, xy = -2 * cx * sy * sz, xz = cx * cy * cz, yz = -2 * sx * sy * cz;
    const double exact[4] = {-f + xy + xz, xy - 4 * f + yz, xz + yz - f, -6 * f};
    const double found[4] = {d.grad_div[0], d.grad_div[1], d.grad_div[2], d.laplacian[0]};
    return std::abs(found[which] - exact[which]);
  };
  constexpr int coarse = 32;
  for (int which = 0; which < 4; ++which) {
    CAPTURE(R, which);
    CHECK(std::abs(std::log2(error(coarse, which) / error(2 * coarse, which)) - 2 * R) < 0.2);
  }
}

}  // namespace

TEST_CASE("First derivatives converge at orders 2, 4, 6 and 8") {
  check_order<1>();
  check_order<2>();
  check_order<3>();
  check_order<4>();
}

TEST_CASE("Laplacian and grad div, with the mixed derivatives, converge at orders 2, 4, 6 and 8") {
  check_order_of_sums<1>();
  check_order_of_sums<2>();
  check_order_of_sums<3>();
  check_order_of_sums<4>();
}

TEST_CASE("Mixed coefficients are a quarter of the second and reproduce xy exactly") {
  for (const int order : {2, 4, 6, 8}) {
    GridConfig config;
    config.cells = {10, 10, 10};
    config.size = {10, 10, 10};
    config.order = order;
    const StencilCoefficients c = stencil_coefficients(Grid(config));
    double sum = 0;
    for (int k = 1; k <= order / 2; ++k) {
      CHECK(c.mixed_xy[k - 1] == c.second[0][k] / 4);
      sum += 4 * c.mixed_xy[k - 1] * k * k;
    }
    CHECK(std::abs(sum - 1) < 1e-14);
  }
}

TEST_CASE("Inactive directions have zero derivatives and do not bound the time step") {
  Config config;
  config.grid.cells = {16, 1, 1};
  const Coefficients c = coefficients(config);
  for (const int axis : {1, 2}) {
    CHECK(c.courant.inverse_spacing[axis] == 0);
    for (int k = 0; k < 3; ++k) CHECK(c.stencil.first[axis][k] == 0);
    for (int k = 0; k <= 3; ++k) CHECK(c.stencil.second[axis][k] == 0);
  }
  for (int k = 0; k < 3; ++k)
    CHECK((c.stencil.mixed_xy[k] == 0 && c.stencil.mixed_xz[k] == 0 && c.stencil.mixed_yz[k] == 0));
  CHECK(c.courant.inverse_spacing2_sum == Grid(config.grid).inverse_spacing(0) * Grid(config.grid).inverse_spacing(0));
}
