#include "io/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "io/slabs.hpp"
#include "io/snapshot.hpp"

namespace mhd {
namespace {

constexpr std::int64_t slab_cells = std::int64_t{1} << 21;

/// Maps the bits of a number to an unsigned integer in the order of the numbers: negative ones count downwards.
template <class Bits>
Bits ordered(Bits bits) {
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  return (bits & sign) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | sign);
}

template <class Bits, class Number>
std::uint64_t distance(Number a, Number b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : infinite_ulps;
  const Bits p = ordered(std::bit_cast<Bits>(a)), q = ordered(std::bit_cast<Bits>(b));
  return p > q ? p - q : q - p;
}

struct Distance {
  double absolute = 0, relative = 0;
};

/// Of two values that are not the same.
Distance distance_of(double a, double b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (std::isnan(a) || std::isnan(b)) return {infinity, infinity};
  if (std::isinf(a) || std::isinf(b)) return a == b ? Distance{} : Distance{infinity, infinity};
  const double absolute = std::abs(a - b);
  return {absolute, absolute == 0 ? 0 : absolute / std::max(std::abs(a), std::abs(b))};
}

/// Calls visit(cell, index) for the cells of a slab in the order of the file.
template <class Visit>
void for_each_cell(const Box& slab, const Visit& visit) {
  std::size_t index = 0;
  for (int z = slab.lower.z; z < slab.upper.z; ++z)
    for (int y = slab.lower.y; y < slab.upper.y; ++y)
      for (int x = slab.lower.x; x < slab.upper.x; ++x) visit(Int3{x, y, z}, index++);
}

FieldDifference compare_field(const SnapshotFile& a, const SnapshotFile& b, Field field, bool float32) {
  FieldDifference result;
  result.field = field;
  result.cells = a.info().grid.cells.product();
  std::vector<double> left, right;
  for (const Box& slab : slabs(a.info().grid.box(), slab_cells)) {
    left.resize(static_cast<std::size_t>(slab.volume()));
    right.resize(left.size());
    a.read(field, slab, left);
    b.read(field, slab, right);
    for_each_cell(slab, [&](Int3 cell, std::size_t i) {
      const std::uint64_t ulps = float32 ? ulps_between(static_cast<float>(left[i]), static_cast<float>(right[i]))
                                         : ulps_between(left[i], right[i]);
      if (ulps > 0) ++result.differing;
      if (ulps > result.max_ulps) {
        result.max_ulps = ulps;
        result.where_ulps = cell;
      }
      if (left[i] == right[i]) return;
      if (std::isnan(left[i]) && std::isnan(right[i])) return;
      const Distance distance = distance_of(left[i], right[i]);
      result.max_relative = std::max(result.max_relative, distance.relative);
      if (distance.absolute > result.max_absolute) {
        result.max_absolute = distance.absolute;
        result.where_absolute = cell;
      }
    });
  }
  return result;
}

bool beyond(std::uint64_t ulps, double relative, const Tolerance& tolerance) {
  if (!tolerance.ulps && !tolerance.relative) return ulps > 0;
  return (tolerance.ulps && ulps > *tolerance.ulps) || (tolerance.relative && relative > *tolerance.relative);
}

void compare_headers(const SnapshotInfo& a, const SnapshotInfo& b, const Tolerance& tolerance, Comparison& result) {
  const auto mismatch = [&](std::string text) { result.mismatches.push_back(std::move(text)); };
  const auto remark = [&](std::string text) { result.remarks.push_back(std::move(text)); };
  if (a.grid.cells != b.grid.cells)
    mismatch(fmt::format("cells: {} against {}", to_string(a.grid.cells), to_string(b.grid.cells)));
  for (int i = 0; i < max_fields; ++i) {
    const Field field = static_cast<Field>(i);
    if (a.has(field) && !b.has(field)) mismatch(fmt::format("field {} is in {} only", name(field), a.path));
    if (!a.has(field) && b.has(field)) mismatch(fmt::format("field {} is in {} only", name(field), b.path));
  }
  if (beyond(ulps_between(a.time, b.time), distance_of(a.time, b.time).relative, tolerance))
    mismatch(fmt::format("time: {} against {}", a.time, b.time));
  if (a.step != b.step) remark(fmt::format("step: {} against {}", a.step, b.step));
  if (a.dt != b.dt) remark(fmt::format("dt: {} against {}", a.dt, b.dt));
  if (a.grid.origin != b.grid.origin || a.grid.size != b.grid.size) remark("the boxes differ in origin or size");
  if (a.grid.order != b.grid.order) remark(fmt::format("order: {} against {}", a.grid.order, b.grid.order));
  if (a.precision != b.precision) remark("one file is float32: ulps are those of float32");
}

std::string ulps_text(std::uint64_t ulps) { return ulps == infinite_ulps ? "inf" : fmt::format("{}", ulps); }

std::string cell_text(Int3 cell) { return fmt::format("({}, {}, {})", cell.x, cell.y, cell.z); }

}  // namespace

std::uint64_t ulps_between(double a, double b) { return distance<std::uint64_t>(a, b); }
std::uint64_t ulps_between(float a, float b) { return distance<std::uint32_t>(a, b); }

Comparison compare_snapshots(const std::string& a, const std::string& b, const Tolerance& tolerance) {
  const SnapshotFile left(a), right(b);
  Comparison result;
  result.a = a;
  result.b = b;
  result.float32 = left.info().precision == Precision::float32 || right.info().precision == Precision::float32;
  compare_headers(left.info(), right.info(), tolerance, result);
  if (left.info().grid.cells != right.info().grid.cells) return result;
  for (const Field field : left.info().fields)
    if (right.info().has(field)) result.fields.push_back(compare_field(left, right, field, result.float32));
  return result;
}

bool exceeds(const FieldDifference& difference, const Tolerance& tolerance) {
  return beyond(difference.max_ulps, difference.max_relative, tolerance);
}

bool exceeds(const Comparison& comparison, const Tolerance& tolerance) {
  return !comparison.mismatches.empty() || std::any_of(comparison.fields.begin(), comparison.fields.end(),
                                                       [&](const auto& f) { return exceeds(f, tolerance); });
}

std::string comparison_text(const Comparison& comparison, const Tolerance& tolerance) {
  std::string text = fmt::format("A: {}\nB: {}\n", comparison.a, comparison.b);
  for (const std::string& mismatch : comparison.mismatches) text += fmt::format("differs: {}\n", mismatch);
  for (const std::string& remark : comparison.remarks) text += fmt::format("note: {}\n", remark);
  if (!comparison.fields.empty())
    text += fmt::format("{:<6} {:>13} {:>13} {:>20} {:>20} {:>20} {:>12}\n", "field", "max abs", "max rel",
                        comparison.float32 ? "max ulps (float32)" : "max ulps", "cell of max abs", "cell of max ulps",
                        "differing");
  for (const FieldDifference& f : comparison.fields) {
    const bool same = f.differing == 0 && f.max_absolute == 0;
    text += fmt::format("{:<6} {:>13.6g} {:>13.6g} {:>20} {:>20} {:>20} {:>12}{}\n", name(f.field), f.max_absolute,
                        f.max_relative, ulps_text(f.max_ulps), same ? "-" : cell_text(f.where_absolute),
                        same ? "-" : cell_text(f.where_ulps), f.differing,
                        exceeds(f, tolerance) ? "  exceeds the bound" : "");
  }
  text += exceeds(comparison, tolerance) ? "The files differ.\n" : "The files agree.\n";
  return text;
}

}  // namespace mhd
