#include "core/exact_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mhd {
namespace {

constexpr int lanes = 8;

/// Largest magnitude; infinity if a value is not finite.
double largest_magnitude(std::span<const double> v) {
  double largest[lanes] = {}, bad[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= v.size(); i += lanes)
    for (int l = 0; l < lanes; ++l) {
      const double m = std::abs(v[i + l]);
      largest[l] = largest[l] < m ? m : largest[l];
      bad[l] += 0.0 * v[i + l];  // NaN once a value is not finite
    }
  for (; i < v.size(); ++i) {
    const double m = std::abs(v[i]);
    largest[0] = largest[0] < m ? m : largest[0];
    bad[0] += 0.0 * v[i];
  }
  double result = 0;
  for (int l = 0; l < lanes; ++l) {
    if (bad[l] != 0) return std::numeric_limits<double>::infinity();
    result = std::max(result, largest[l]);
  }
  return result;
}

/// Splits each value into its nearest multiple of the unit and the rest, which stays; the sum of the multiples (exact).
double take_multiples(std::span<double> v, double unit) {
  const double shifter = 0x1.8p52 * unit;  // adding it rounds to multiples of the unit
  double sums[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= v.size(); i += lanes)
    for (int l = 0; l < lanes; ++l) {
      const double multiple = (v[i + l] + shifter) - shifter;
      v[i + l] -= multiple;
      sums[l] += multiple;
    }
  for (; i < v.size(); ++i) {
    const double multiple = (v[i] + shifter) - shifter;
    v[i] -= multiple;
    sums[0] += multiple;
  }
  double total = 0;
  for (double s : sums) total += s;
  return total;
}

double unit_of(int limb) { return std::ldexp(1.0, ExactSum::top_exponent - ExactSum::limb_bits * limb); }

}  // namespace

void ExactSum::add(std::span<const double> values) {
  std::array<double, max_run> rest;
  const std::span<double> v(rest.data(), values.size());
  std::copy(values.begin(), values.end(), v.begin());
  double largest = largest_magnitude(v);
  if (!(largest < std::ldexp(1.0, top_exponent + limb_bits))) {
    ++invalid_;
    return;
  }
  // largest < 2^exponent: the first limb whose unit is above 2^(exponent - limb_bits).
  int exponent = 0;
  std::frexp(largest, &exponent);
  int limb = exponent > top_exponent ? 0 : (top_exponent - exponent) / limb_bits + 1;
  for (; limb < limbs && largest > 0; ++limb) {
    const double unit = unit_of(limb);
    const double multiples = take_multiples(v, unit) / unit;  // an integer below 2^52
    limbs_[limb] += static_cast<std::int64_t>(multiples);
    if (std::abs(limbs_[limb]) > (std::int64_t{1} << 61)) carry();
    largest = largest_magnitude(v);
  }
}

ExactSum& ExactSum::operator+=(const ExactSum& other) {
  ExactSum b = other;
  b.carry();
  carry();
  for (int i = 0; i < limbs; ++i) limbs_[i] += b.limbs_[i];
  invalid_ += b.invalid_;
  return *this;
}

void ExactSum::carry() {
  for (int i = limbs - 1; i > 0; --i) {
    const std::int64_t over = limbs_[i] >> limb_bits;  // rounds towards minus infinity: what stays is >= 0
    limbs_[i] -= over << limb_bits;
    limbs_[i - 1] += over;
  }
}

double ExactSum::value() const {
  if (invalid_ > 0) return std::numeric_limits<double>::quiet_NaN();
  ExactSum s = *this;
  s.carry();
  // All limbs but the first are now >= 0; with a negative first one the magnitude is that of the negated sum.
  const bool negative = s.limbs_[0] < 0;
  if (negative) {
    for (std::int64_t& l : s.limbs_) l = -l;
    s.carry();
  }
  double total = 0;
  for (int i = limbs - 1; i >= 0; --i) total += static_cast<double>(s.limbs_[i]) * unit_of(i);
  return negative ? -total : total;
}

std::array<std::int64_t, ExactSum::limbs + 1> ExactSum::pack() const {
  ExactSum s = *this;
  s.carry();
  std::array<std::int64_t, limbs + 1> packed;
  std::copy(s.limbs_.begin(), s.limbs_.end(), packed.begin());
  packed[limbs] = invalid_;
  return packed;
}

ExactSum ExactSum::unpack(std::span<const std::int64_t> packed) {
  ExactSum s;
  std::copy_n(packed.begin(), limbs, s.limbs_.begin());
  s.invalid_ = packed[limbs];
  return s;
}

}  // namespace mhd
