#pragma once
// The difference of two snapshots, field by field, in bounded memory.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/box.hpp"
#include "core/fields.hpp"

namespace mhd {

/// Distance of two values that one side lacks: NaN against a number.
inline constexpr std::uint64_t infinite_ulps = std::numeric_limits<std::uint64_t>::max();

/// Steps between two numbers in the ordered list of all float64 (or float32) numbers. The list has both zeros, so that
/// 0 means equal bits; -0 and +0 are 1 apart. NaN against NaN is 0, NaN against a number infinite_ulps.
std::uint64_t ulps_between(double a, double b);
std::uint64_t ulps_between(float a, float b);

struct FieldDifference {
  Field field{};
  double max_absolute = 0;  ///< |a - b|; infinite where one side is NaN
  double max_relative = 0;  ///< |a - b| / max(|a|, |b|); infinite where one side is NaN
  std::uint64_t max_ulps = 0;
  Int3 where_absolute{}, where_ulps{};  ///< global cells of the maxima, the first in [z][y][x] order
  std::int64_t differing = 0;           ///< cells with max_ulps > 0
  std::int64_t cells = 0;
};

struct Comparison {
  std::string a, b;                     ///< paths
  std::vector<FieldDifference> fields;  ///< those of both files, if the grids have the same cells
  std::vector<std::string> mismatches;  ///< what makes the files incomparable: cells, fields of one side, time
  std::vector<std::string> remarks;     ///< what differs without being a difference of the states: step, dt, ...
  bool float32 = false;                 ///< ulps are those of float32, because a file holds no more than that
};

/// Bounds on the difference; each one given must hold. None given: 0 ulps.
struct Tolerance {
  std::optional<std::uint64_t> ulps;
  std::optional<double> relative;
};

/// Serial, without MPI. Throws Error(io). Times differ when they differ by more than the tolerance.
Comparison compare_snapshots(const std::string& a, const std::string& b, const Tolerance& tolerance = {});

bool exceeds(const FieldDifference& difference, const Tolerance& tolerance);
/// True where a field exceeds the tolerance or the files mismatch.
bool exceeds(const Comparison& comparison, const Tolerance& tolerance);

/// A table of the fields, the mismatches and the remarks, ending with a line feed.
std::string comparison_text(const Comparison& comparison, const Tolerance& tolerance);

}  // namespace mhd
