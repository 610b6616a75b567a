#pragma once
// Field arrays in host memory, with halos.

#include <cstddef>
#include <memory>
#include <span>

#include "core/box.hpp"
#include "core/fields.hpp"
#include "core/grid.hpp"

namespace mhd {

/// A read-only view of the interior cells of one field: cell (i, j, k) of the subdomain is data[i + j*stride_y +
/// k*stride_z].
struct FieldView {
  const double* data = nullptr;
  Int3 cells{};
  std::ptrdiff_t stride_y = 0, stride_z = 0;
};

/// Memory layout of one field of a subdomain: x fastest, rows padded so that cell (0, j, k) starts a 64-byte line.
/// An inactive y or z axis has no halo and stride 0: every offset along it reads the cell itself.
struct HostLayout {
  Int3 cells{};                               ///< interior cells of the subdomain
  Int3 halo{};                                ///< halo width per axis: radius, or 0 on an inactive y or z axis
  std::ptrdiff_t stride_y = 0, stride_z = 0;  ///< as used for neighbour access (0 on inactive axes)
  std::ptrdiff_t origin = 0;                  ///< offset of cell (0, 0, 0) from the start of the field
  std::size_t field_size = 0;                 ///< doubles per field, padding included

  HostLayout() = default;
  HostLayout(const Grid& grid, Int3 cells);
  std::size_t bytes(int fields) const { return field_size * sizeof(double) * static_cast<std::size_t>(fields); }
};

/// One set of fields, zero-initialised.
class HostState {
 public:
  HostState(const HostLayout& layout, int fields);

  const HostLayout& layout() const { return layout_; }
  int fields() const { return fields_; }
  /// Pointer to cell (0, 0, 0) of a slot.
  double* cell(int slot) { return data_.get() + static_cast<std::size_t>(slot) * layout_.field_size + layout_.origin; }
  const double* cell(int slot) const { return const_cast<HostState*>(this)->cell(slot); }
  FieldView view(int slot) const { return {cell(slot), layout_.cells, layout_.stride_y, layout_.stride_z}; }
  /// Copies interior values, [z][y][x] without padding, into a slot.
  void set_interior(int slot, std::span<const double> values);

 private:
  struct Free {
    void operator()(double* p) const;
  };
  HostLayout layout_;
  int fields_ = 0;
  std::unique_ptr<double[], Free> data_;
};

}  // namespace mhd
