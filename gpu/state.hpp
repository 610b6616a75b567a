#pragma once
// The fields of one subdomain on the device: the present state and the one that the next substep writes.

#include <cuda.h>

#include "gpu/buffer.hpp"
#include "gpu/layout.hpp"
#include "gpu/substep.hpp"

namespace mhd::gpu {

/// One set of fields, zero-initialised, with the descriptors of its tensor copies. Move-only.
class DeviceState {
 public:
  /// Throws Error(device) where the memory is not to be had.
  DeviceState(const Layout& layout, int fields, const TileShape& shape);

  /// Cell (0, 0, 0) of a slot.
  double* cell(int slot) const { return data_.data() + slot * layout_.field_size + layout_.origin(); }
  /// Describes a padded tile of a plane, all fields; and a tile without padding.
  const CUtensorMap& padded_tile() const { return padded_tile_; }
  const CUtensorMap& tile() const { return tile_; }

 private:
  Layout layout_;
  DeviceBuffer<double> data_;
  CUtensorMap padded_tile_{}, tile_{};
};

}  // namespace mhd::gpu
