// exp: accuracy against 128-bit arithmetic, special values, and the same bits in SIMD packs.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/math.hpp"
#include "core/pack.hpp"
#include "core/philox.hpp"
#include "tests/catch.hpp"

#if MHD_HAVE_QUADMATH
#include <quadmath.h>
#endif

using namespace mhd;

namespace {

/// Uniform in [0, 1), the i-th of a fixed sequence.
double uniform(std::uint64_t i) { return random_uniform(7, RandomPurpose::initial_noise, 0, i)[0]; }

/// Arguments over the whole range, near zero, and around the points where the reduction switches.
double argument(std::uint64_t i) {
  const double s = 2 * uniform(i) - 1;
  switch (i % 4) {
    case 0:
      return 708 * s;
    case 1:
      return 0.36 * s;
    case 2:
      return 5 * s;
    default:
      return (std::floor(200 * uniform(i + 1)) - 99.5) * 0.6931471805599453 + 0.02 * s;
  }
}

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

}  // namespace

#if MHD_HAVE_QUADMATH
TEST_CASE("exp(x) and exp(-x) are accurate to less than one unit of the last place") {
  const auto error = [](double candidate, __float128 exact) {
    int exponent = 0;
    frexpq(exact, &exponent);
    return static_cast<double>(fabsq(candidate - exact) / ldexpq(1, exponent - 53));
  };
  double worst = 0;
  for (std::uint64_t i = 0; i < 1000000; ++i) {
    const double x = argument(i);
    const ExpPair<double> e = exp_pair(x);
    worst = std::max({worst, error(e.plus, expq(x)), error(e.minus, expq(-static_cast<__float128>(x)))});
  }
  CAPTURE(worst);
  CHECK(worst < 0.95);
}
#endif

TEST_CASE("exp keeps NaN, is exact at 0 and saturates instead of overflowing") {
  CHECK(mhd::exp(0.0) == 1.0);
  CHECK(std::isnan(mhd::exp(std::numeric_limits<double>::quiet_NaN())));
  CHECK(std::isnan(exp_pair(std::numeric_limits<double>::quiet_NaN()).minus));
  CHECK(mhd::exp(1e4) == mhd::exp(708.0));
  CHECK(std::isfinite(mhd::exp(1e300)));
  CHECK(mhd::exp(-1e300) > 0);
}

TEST_CASE("A pack gives the bits of its lanes one by one") {
  constexpr int lanes = 2;  // what every processor has; wider packs are compared through whole runs
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const double x[lanes] = {argument(2 * i), argument(2 * i + 1)};
    double plus[lanes], minus[lanes], root[lanes], fused[lanes], magnitude[lanes];
    const Pack<lanes> p = Pack<lanes>::load(x);
    const auto e = exp_pair(p);
    e.plus.store(plus);
    e.minus.store(minus);
    sqrt(abs(p)).store(root);
    fma(p, p, e.minus).store(fused);
    abs(p).store(magnitude);
    for (int l = 0; l < lanes; ++l) {
      REQUIRE(bits(plus[l]) == bits(exp_pair(x[l]).plus));
      REQUIRE(bits(minus[l]) == bits(exp_pair(x[l]).minus));
      REQUIRE(bits(root[l]) == bits(std::sqrt(std::abs(x[l]))));
      REQUIRE(bits(fused[l]) == bits(std::fma(x[l], x[l], minus[l])));
      REQUIRE(bits(magnitude[l]) == bits(std::abs(x[l])));
    }
  }
}
