#pragma once
// What a subdomain exchanges before each substep: which of its cells go to which rank, which halo cells come from
// where, and which halo cells it fills from its own. Boxes are in local cell coordinates: the interior is
// [0, cells), halo cells have negative indices or indices >= cells. Nothing here depends on how fields are stored.

#include <cstdint>
#include <vector>

#include "core/box.hpp"
#include "core/decomposition.hpp"

namespace mhd {

/// The halo cells that lie in one direction, exchanged with the rank there. `send_box` and `recv_box` have the same
/// size. The offsets are in cells from the start of the message; all fields of a segment lie together.
struct HaloSegment {
  Int3 direction;                ///< where the halo lies as seen from this rank; components -1, 0, 1
  Box send_box;                  ///< own cells that the neighbour needs
  Box recv_box;                  ///< halo cells that the neighbour fills
  int neighbour = 0;             ///< rank
  int message = 0;               ///< index into HaloPlan::messages
  std::int64_t send_offset = 0;  ///< of send_box in the outgoing message
  std::int64_t recv_offset = 0;  ///< of recv_box in the incoming message
};

/// All segments exchanged with one rank travel as one message per direction of travel. Both have the same length.
struct HaloMessage {
  int neighbour = 0;       ///< rank
  std::int64_t cells = 0;  ///< per field
};

/// Halo cells along an axis that this rank holds alone, [-radius, 0) and [cells, cells + radius): cell i of the axis is
/// the own cell (i mod cells), which for few cells (fewer than the radius) may be used several times.
struct HaloWrap {
  int axis = 0;
  Box range;  ///< extent along the other axes; along `axis` it is the interior
};

/// A segment's data starts at fields * offset of its message's buffer; with several segments in one message their
/// order is by the direction as the sender sees it, so an axis held by two ranks keeps its two sides apart.
struct HaloPlan {
  HaloPlan(const Decomposition& decomposition, int rank, bool corners = false);

  Int3 cells{};  ///< of the subdomain
  int radius = 0;
  bool corners = false;               ///< whether halo corners between split axes are exchanged, too
  std::vector<HaloSegment> segments;  ///< by direction, x + 3 y + 9 z ascending
  std::vector<HaloMessage> messages;  ///< longest first
  /// To be done in this order after all segments have arrived; later ones read halo cells that earlier ones filled.
  /// Inactive y and z axes have no halo and are absent; x has one even if inactive.
  std::vector<HaloWrap> wraps;
};

}  // namespace mhd
