// The sum of the series columns: exact, hence independent of order and grouping.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/exact_sum.hpp"
#include "core/philox.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

/// Values of both signs over 60 decades.
std::vector<double> wild_values(int n) {
  std::vector<double> v;
  for (int i = 0; i < n; ++i) {
    const auto r = random_uniform(3, RandomPurpose::initial_noise, 1, i);
    v.push_back((2 * r[0] - 1) * std::pow(10.0, 60 * r[1] - 40));
  }
  return v;
}

double sum_in_runs(const std::vector<double>& v, std::size_t run) {
  ExactSum s;
  for (std::size_t i = 0; i < v.size(); i += run) s.add(std::span(v).subspan(i, std::min(run, v.size() - i)));
  return s.value();
}

}  // namespace

TEST_CASE("An exact sum does not depend on order or grouping") {
  std::vector<double> v = wild_values(5000);
  const double expected = sum_in_runs(v, 1);
  for (const std::size_t run : {2u, 7u, 8u, 64u, 2048u})
    CHECK(std::bit_cast<std::uint64_t>(sum_in_runs(v, run)) == std::bit_cast<std::uint64_t>(expected));
  std::sort(v.begin(), v.end());
  CHECK(sum_in_runs(v, 2048) == expected);
  std::reverse(v.begin(), v.end());
  CHECK(sum_in_runs(v, 129) == expected);
}

TEST_CASE("An exact sum keeps what cancellation leaves") {
  ExactSum s;
  for (const double x : {1e100, 1.0, -1e100, 1e-90, -1.0}) s.add(x);
  CHECK(s.value() == 1e-90);
  s.add(-1e-90);
  CHECK(s.value() == 0);
  s.add(-0.1);
  CHECK(s.value() == -0.1);
}

TEST_CASE("Sums of equal values are exact") {
  const std::vector<double> v(2048, 0.1);
  ExactSum s;
  for (int i = 0; i < 512; ++i) s.add(v);
  CHECK(s.value() == 0.1 * 2048 * 512);  // a power of two times 0.1 is exact
}

TEST_CASE("Packed partial sums of several ranks add to the sum of all values") {
  const std::vector<double> v = wild_values(3000);
  std::vector<std::int64_t> total(ExactSum::limbs + 1, 0);
  for (int rank = 0; rank < 7; ++rank) {
    ExactSum part;
    for (std::size_t i = rank; i < v.size(); i += 7) part.add(v[i]);
    const auto packed = part.pack();
    for (std::size_t l = 0; l < packed.size(); ++l) total[l] += packed[l];
  }
  CHECK(ExactSum::unpack(total).value() == sum_in_runs(v, 100));
  ExactSum a, b;
  for (std::size_t i = 0; i < v.size(); ++i) (i % 3 ? a : b).add(v[i]);
  a += b;
  CHECK(a.value() == sum_in_runs(v, 100));
}

TEST_CASE("Values that are not finite, or beyond the range, make a sum NaN") {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e110}) {
    ExactSum s;
    s.add(std::vector<double>{1.0, bad, 2.0});
    CHECK(std::isnan(s.value()));
  }
  ExactSum s;
  s.add(1e100);
  CHECK(s.value() == 1e100);
}
