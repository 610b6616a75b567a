#pragma once
// Order statistics of small samples, as reported for step times.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace mhd {

/// The value below which a fraction (0 .. 1) of the sample lies: linear interpolation between the order statistics
/// around position fraction (n - 1), counted from 0 (the default of NumPy, type 7 of Hyndman & Fan 1996). NaN for an
/// empty sample. The sample must not hold NaN.
inline double percentile(std::vector<double> sample, double fraction) {
  if (sample.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(sample.begin(), sample.end());
  const double position = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(sample.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sample.size() - 1);
  const double weight = position - static_cast<double>(below);
  return sample[below] + weight * (sample[above] - sample[below]);
}

/// The middle value, or the mean of the two middle ones.
inline double median(std::vector<double> sample) { return percentile(std::move(sample), 0.5); }

}  // namespace mhd
