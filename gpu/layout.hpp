#pragma once
// Memory layout of the fields of one subdomain on the device.

#include <cstddef>
#include <cstdint>

#include "core/box.hpp"
#include "core/decomposition.hpp"
#include "core/grid.hpp"

namespace mhd::gpu {

/// One field: x fastest, then y, then z; rows start `left` doubles before cell x = 0. Rows and planes outside the
/// interior exist as the halo says; along a z axis that this rank holds alone there are none, since planes are then
/// addressed periodically.
struct Layout {
  /// Doubles before cell x = 0 of a row: the widest halo, and a 32-byte sector.
  static constexpr int left = 4;

  Int3 cells{};
  int radius = 0;
  bool split[3] = {};  ///< the axis is shared with other ranks: its halo is exchanged
  int halo_y = 0, halo_z = 0;
  std::int64_t stride_y = 0, stride_z = 0;  ///< doubles between rows, planes
  std::int64_t field_size = 0;              ///< doubles between fields

  Layout() = default;
  Layout(const Decomposition& decomposition, int rank);

  constexpr std::int64_t rows() const { return cells.y + 2 * std::int64_t{halo_y}; }
  constexpr std::int64_t planes() const { return cells.z + 2 * std::int64_t{halo_z}; }
  /// Offset of cell (0, 0, 0) from the start of a field.
  std::int64_t origin() const { return left + halo_y * stride_y + halo_z * stride_z; }
  std::size_t state_bytes(int fields) const { return static_cast<std::size_t>(field_size) * fields * sizeof(double); }
};

}  // namespace mhd::gpu
