#include "core/regions.hpp"

#include <algorithm>
#include <map>

namespace mhd {

namespace {

/// `inside`: the interior cells next to the boundary; otherwise the halo cells beyond it.
Box segment_box(Int3 cells, int radius, Int3 direction, bool inside) {
  Box box{{0, 0, 0}, cells};
  for (int axis = 0; axis < 3; ++axis) {
    if (direction[axis] == 0) continue;
    const int boundary = direction[axis] < 0 ? 0 : cells[axis];
    const bool above = (direction[axis] > 0) != inside;
    box.lower[axis] = above ? boundary : boundary - radius;
    box.upper[axis] = box.lower[axis] + radius;
  }
  return box;
}

/// One message per neighbour, longest first; ties by rank, so that the list does not depend on anything else.
std::vector<HaloMessage> collect_messages(const std::vector<HaloSegment>& segments) {
  std::map<int, std::int64_t> cells_of;
  for (const HaloSegment& segment : segments) cells_of[segment.neighbour] += segment.send_box.volume();
  std::vector<HaloMessage> messages;
  for (auto [neighbour, cells] : cells_of) messages.push_back({neighbour, cells});
  std::stable_sort(messages.begin(), messages.end(),
                   [](const HaloMessage& a, const HaloMessage& b) { return a.cells > b.cells; });
  return messages;
}

void assign_offsets(std::vector<HaloSegment>& segments, const std::vector<HaloMessage>& messages) {
  std::vector<std::int64_t> sent(messages.size(), 0), received(messages.size(), 0);
  for (HaloSegment& segment : segments) {
    const auto message = std::find_if(messages.begin(), messages.end(),
                                      [&](const HaloMessage& m) { return m.neighbour == segment.neighbour; });
    segment.message = static_cast<int>(message - messages.begin());
    segment.send_offset = sent[segment.message];
    sent[segment.message] += segment.send_box.volume();
  }
  // What lies in direction d here was sent in direction -d there, and the sender packs in ascending direction.
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    segment->recv_offset = received[segment->message];
    received[segment->message] += segment->recv_box.volume();
  }
}

/// x first: its short rows are then copied for interior rows only, and y and z copy whole rows.
std::vector<HaloWrap> local_wraps(const Decomposition& decomposition, Int3 cells, int radius) {
  Box filled{{0, 0, 0}, cells};  // along split axes the messages have filled the halo
  const auto extend = [&](int axis) {
    filled.lower[axis] -= radius;
    filled.upper[axis] += radius;
  };
  for (int axis = 0; axis < 3; ++axis)
    if (decomposition.split(axis)) extend(axis);
  std::vector<HaloWrap> wraps;
  for (int axis = 0; axis < 3; ++axis) {
    if (decomposition.split(axis) || (axis > 0 && !decomposition.grid().active(axis))) continue;
    wraps.push_back({axis, filled});
    extend(axis);
  }
  return wraps;
}

}  // namespace

HaloPlan::HaloPlan(const Decomposition& decomposition, int rank, bool with_corners)
    : cells(decomposition.box(rank).size()), radius(decomposition.grid().radius()), corners(with_corners) {
  for (Int3 direction :
       message_directions({decomposition.split(0), decomposition.split(1), decomposition.split(2)}, corners)) {
    HaloSegment segment;
    segment.direction = direction;
    segment.send_box = segment_box(cells, radius, direction, true);
    segment.recv_box = segment_box(cells, radius, direction, false);
    segment.neighbour = decomposition.neighbour(rank, direction);
    segments.push_back(segment);
  }
  messages = collect_messages(segments);
  assign_offsets(segments, messages);
  wraps = local_wraps(decomposition, cells, radius);
}

}  // namespace mhd
