#pragma once
// The global grid: N cells per direction, cell-centred, x_i = x0 + (i + 1/2) d, periodic.

#include "core/box.hpp"

namespace mhd {

struct GridConfig;

struct Grid {
  Int3 cells{};
  Real3 origin{};
  Real3 size{};
  int order = 6;

  Grid() = default;
  explicit Grid(const GridConfig& config);

  /// Stencil radius r = order/2, the halo width in cells.
  int radius() const { return order / 2; }
  bool active(int axis) const { return cells[axis] > 1; }
  double spacing(int axis) const { return size[axis] / cells[axis]; }
  /// 1/d of an active direction, 0 of an inactive one: its derivatives vanish.
  double inverse_spacing(int axis) const { return active(axis) ? cells[axis] / size[axis] : 0.0; }
  double coordinate(int axis, int i) const { return origin[axis] + (i + 0.5) * spacing(axis); }
  Box box() const { return {{0, 0, 0}, cells}; }
};

}  // namespace mhd
