#pragma once
// The cells of a subdomain in the order in which a substep can compute them: the inner box, whose stencils read no cell
// of another rank, and outer segments, each of which waits for the halo segments that it reads. What feeds what is
// data, so that exchange and computation can be chained without a barrier.
//
// Stencils are those of docs/physics.md: up to `radius` cells along an axis, and along the diagonals of the xy, xz and
// yz planes. They read faces and edges of the halo, never its corners. Halo cells along axes that the rank holds alone
// are images of own cells or of received ones, and count as those.

#include <cstdint>
#include <vector>

#include "core/box.hpp"
#include "core/regions.hpp"

namespace mhd {

/// Cells near the boundary that are computed together, in local coordinates as in HaloPlan.
struct OuterSegment {
  Box box;
  std::uint32_t reads = 0;   ///< bit s: a stencil reads HaloPlan::segments[s]
  std::uint32_t awaits = 0;  ///< bit m: HaloPlan::messages[m] brings one of them
};

/// `inner` and the boxes of `outer` are disjoint and hold every cell of the subdomain. No halo segment is sent from
/// inner cells, so that the next substep's packing waits for outer segments only.
struct SegmentPlan {
  /// Boundaries between segments lie at multiples of `tile`, which kernels that compute tile by tile want; with {1, 1,
  /// 1} the outer segments are as thin as can be.
  explicit SegmentPlan(const HaloPlan& plan, Int3 tile = {1, 1, 1});

  Box inner;  ///< empty where a split axis is too short
  /// In this order, for split axes: the lower and the upper z slab, of radius planes or more and over all x and y, so
  /// that rows are long and few; of the rest the y slabs; of the rest the x slabs. Where an axis is too short for two,
  /// both slabs are one. None where the rank holds all axes alone.
  std::vector<OuterSegment> outer;
  std::vector<std::uint32_t> fed_by;          ///< by halo segment; bit n: its send_box holds cells of outer[n]
  std::vector<std::uint32_t> message_fed_by;  ///< by message, the same for all of its segments
};

}  // namespace mhd
