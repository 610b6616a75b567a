#include "gpu/substep.hpp"

#include <algorithm>

namespace mhd::gpu {

SubstepKernel substep_kernel(int radius, FieldSet fields, bool tensor_copies) {
  switch (radius) {
    case 1:
      return substep_kernel_r1(fields, tensor_copies);
    case 2:
      return substep_kernel_r2(fields, tensor_copies);
    case 3:
      return substep_kernel_r3(fields, tensor_copies);
    default:
      return substep_kernel_r4(fields, tensor_copies);
  }
}

void choose_tiles(SubstepArguments& arguments, const TileShape& shape, int radius, int multiprocessors) {
  const Box& region = arguments.region;
  const Int3 size = region.size();
  const auto pieces = [](int cells, int tile) { return (cells + tile - 1) / tile; };
  arguments.tiles.x = pieces(region.upper.x - (region.lower.x & ~3), shape.tile_x);
  arguments.tiles.y = pieces(size.y, shape.tile_y);
  // One block runs on a multiprocessor at a time. A chunk costs its planes, and the planes that only warm it up, which
  // take about a third as long each, and a start-up of about half a plane.
  const double warm_up = 2 * radius / 3.0 + 0.5;
  const std::int64_t columns = std::int64_t{arguments.tiles.x} * arguments.tiles.y;
  double best = 0;
  for (int chunks = 1; chunks <= size.z && chunks <= 4096; ++chunks) {
    const int chunk = pieces(size.z, chunks);
    if (pieces(size.z, chunk) != chunks) continue;
    const std::int64_t waves = (columns * chunks + multiprocessors - 1) / multiprocessors;
    const double cost = static_cast<double>(waves) * (chunk + warm_up);
    if (chunks > 1 && cost >= best) continue;
    best = cost;
    arguments.chunk = chunk;
    arguments.tiles.z = chunks;
  }
}

}  // namespace mhd::gpu
