#include "core/segments.hpp"

#include <algorithm>

namespace mhd {

namespace {

constexpr std::uint32_t bit(std::size_t index) { return std::uint32_t{1} << index; }

bool is_split(const HaloPlan& plan, int axis) {
  return std::any_of(plan.segments.begin(), plan.segments.end(),
                     [axis](const HaloSegment& segment) { return segment.direction[axis] != 0; });
}

/// Cuts the slabs next to the boundaries of an axis off `rest`, which extends over the whole axis.
void cut_slabs(Box& rest, int axis, int radius, int tile, std::vector<OuterSegment>& outer) {
  const int cells = rest.upper[axis];
  if (rest.empty()) return;
  const int first = (radius + tile - 1) / tile * tile;  // the end of the lower slab
  if (first + radius > cells) {
    outer.push_back({rest});
    rest.lower[axis] = cells;
    return;
  }
  const int last = first + (cells - radius - first) / tile * tile;
  Box lower = rest, upper = rest;
  lower.upper[axis] = first;
  upper.lower[axis] = last;
  outer.push_back({lower});
  outer.push_back({upper});
  rest.lower[axis] = first;
  rest.upper[axis] = last;
}

/// A stencil leaves the subdomain along one axis, or along two by the same number of cells.
bool reads(const Box& box, const HaloSegment& segment, Int3 cells, int radius) {
  int axes = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const int direction = segment.direction[axis];
    if (direction < 0 && box.lower[axis] >= radius) return false;
    if (direction > 0 && box.upper[axis] <= cells[axis] - radius) return false;
    axes += direction != 0;
  }
  return axes < 3;
}

}  // namespace

SegmentPlan::SegmentPlan(const HaloPlan& plan, Int3 tile)
    : inner{{0, 0, 0}, plan.cells}, fed_by(plan.segments.size(), 0), message_fed_by(plan.messages.size(), 0) {
  for (int axis : {2, 1, 0})
    if (is_split(plan, axis)) cut_slabs(inner, axis, plan.radius, tile[axis], outer);

  for (std::size_t n = 0; n < outer.size(); ++n)
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
      const HaloSegment& segment = plan.segments[s];
      if (reads(outer[n].box, segment, plan.cells, plan.radius)) {
        outer[n].reads |= bit(s);
        outer[n].awaits |= bit(segment.message);
      }
      if (!intersect(outer[n].box, segment.send_box).empty()) {
        fed_by[s] |= bit(n);
        message_fed_by[segment.message] |= bit(n);
      }
    }
}

}  // namespace mhd
