#include "gpu/layout.hpp"

#include "core/regions.hpp"
#include "gpu/device.hpp"

namespace mhd::gpu {

Layout::Layout(const Decomposition& decomposition, int rank)
    : cells(decomposition.box(rank).size()), radius(decomposition.grid().radius()) {
  for (int axis = 0; axis < 3; ++axis) split[axis] = decomposition.split(axis);
  halo_y = radius;
  halo_z = split[2] ? radius : 0;
  constexpr std::int64_t sector = 4;  // rows start on a 32-byte sector
  stride_y = (left + std::int64_t{cells.x} + left + sector - 1) / sector * sector;
  stride_z = stride_y * rows();
  field_size = stride_z * planes();
}

std::size_t device_bytes(const Decomposition& decomposition, int rank, FieldSet fields, bool corners) {
  const Layout layout(decomposition, rank);
  std::size_t message_cells = 0;
  for (const HaloMessage& message : HaloPlan(decomposition, rank, corners).messages)
    message_cells += static_cast<std::size_t>(message.cells);
  constexpr std::size_t reductions = std::size_t{1} << 20;
  // One buffer of outgoing messages and two of incoming ones, of at least 2 MiB each.
  return 2 * layout.state_bytes(fields.count()) + 3 * message_cells * fields.count() * sizeof(double) + reductions;
}

}  // namespace mhd::gpu
