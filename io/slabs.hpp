#pragma once
// Boxes cut into pieces of bounded size, in the order of the file: z slowest, then y, then x.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/box.hpp"

namespace mhd {

/// Cuts a box into slabs of at most `max_cells` (>= 1) cells: whole planes where one fits, else whole rows, else pieces
/// of rows. An empty box has no slabs.
inline std::vector<Box> slabs(const Box& box, std::int64_t max_cells) {
  std::vector<Box> pieces;
  if (box.empty()) return pieces;
  const Int3 size = box.size();
  const auto fitting = [&](std::int64_t unit, int count) {
    return static_cast<int>(std::clamp<std::int64_t>(max_cells / unit, 1, count));
  };
  const Int3 step{fitting(1, size.x), fitting(size.x, size.y), fitting(std::int64_t{size.x} * size.y, size.z)};
  for (int z = box.lower.z; z < box.upper.z; z += step.z)
    for (int y = box.lower.y; y < box.upper.y; y += step.y)
      for (int x = box.lower.x; x < box.upper.x; x += step.x)
        pieces.push_back({{x, y, z},
                          {std::min(x + step.x, box.upper.x), std::min(y + step.y, box.upper.y),
                           std::min(z + step.z, box.upper.z)}});
  return pieces;
}

}  // namespace mhd
