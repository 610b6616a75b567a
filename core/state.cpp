#include "core/state.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/error.hpp"

namespace mhd {

namespace {

constexpr std::ptrdiff_t line = 8;              ///< doubles per 64-byte cache line, and per widest SIMD vector
constexpr std::ptrdiff_t conflict_row = 64;     ///< rows a multiple of 512 bytes apart share few cache sets
constexpr std::ptrdiff_t conflict_plane = 512;  ///< doubles per 4096-byte page: addresses alias in the L1 cache

std::ptrdiff_t round_up(std::ptrdiff_t value, std::ptrdiff_t unit) { return (value + unit - 1) / unit * unit; }

std::ptrdiff_t avoid_multiple(std::ptrdiff_t stride, std::ptrdiff_t unit) {
  return stride % unit == 0 ? stride + line : stride;
}

}  // namespace

HostLayout::HostLayout(const Grid& grid, Int3 cells_) : cells(cells_) {
  const int radius = grid.radius();
  halo = {radius, grid.active(1) ? radius : 0, grid.active(2) ? radius : 0};
  // One line before the row holds the left halo (radius <= 4). One line after it lets a vector that starts at any
  // started group of 8 cells be loaded at offsets up to the radius without leaving the row.
  const std::ptrdiff_t row = avoid_multiple(line + round_up(cells.x, line) + line, conflict_row);
  const std::ptrdiff_t plane = avoid_multiple(row * (cells.y + 2 * halo.y), conflict_plane);
  stride_y = grid.active(1) ? row : 0;
  stride_z = grid.active(2) ? plane : 0;
  origin = line + row * halo.y + plane * halo.z;
  field_size = static_cast<std::size_t>(avoid_multiple(plane * (cells.z + 2 * halo.z), conflict_plane));
}

void HostState::Free::operator()(double* p) const { std::free(p); }

HostState::HostState(const HostLayout& layout, int fields) : layout_(layout), fields_(fields) {
  const std::size_t bytes = layout_.bytes(fields_);
  data_.reset(static_cast<double*>(std::aligned_alloc(line * sizeof(double), bytes)));
  if (!data_)
    throw Error(ExitCode::launch, "out of memory: " + std::to_string(fields_) + " fields of " +
                                      to_string(layout_.cells) + " cells need " + std::to_string(bytes) +
                                      " bytes on this rank; use more ranks or nodes");
  // Written here first, so that the pages lie in the memory next to this rank's core.
  std::memset(data_.get(), 0, bytes);
}

void HostState::set_interior(int slot, std::span<const double> values) {
  const Int3 n = layout_.cells;
  if (static_cast<std::int64_t>(values.size()) != n.product())
    throw Error(ExitCode::internal, "set_interior: " + std::to_string(values.size()) +
                                        " values given for a subdomain of " + to_string(n) + " cells");
  const double* source = values.data();
  for (int k = 0; k < n.z; ++k)
    for (int j = 0; j < n.y; ++j, source += n.x)
      std::copy_n(source, n.x, cell(slot) + j * layout_.stride_y + k * layout_.stride_z);
}

}  // namespace mhd
