#include "core/state.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

#include "core/config.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

Grid make_grid(Int3 cells, int order) {
  GridConfig config;
  config.cells = cells;
  config.order = order;
  return Grid(config);
}

/// Offset of cell (i, j, k) from the start of its field.
std::ptrdiff_t offset(const HostLayout& layout, Int3 c) {
  return layout.origin + c.x + c.y * layout.stride_y + c.z * layout.stride_z;
}

}  // namespace

TEST_CASE("rows start on cache lines and vector loads at any offset stay in the field", "[state]") {
  for (int order : {2, 8})
    for (Int3 cells : {Int3{1, 1, 1}, Int3{5, 4, 3}, Int3{8, 1, 9}, Int3{48, 64, 64}, Int3{112, 128, 6}, Int3{33, 7, 1},
                       Int3{240, 8, 8}}) {
      const HostLayout layout(make_grid(cells, order), cells);
      INFO(to_string(cells) << " order " << order);
      CHECK(layout.origin % 8 == 0);
      CHECK(layout.stride_y % 8 == 0);
      CHECK(layout.stride_z % 8 == 0);
      CHECK(layout.field_size % 8 == 0);
      CHECK(layout.halo.x == order / 2);
      const int last_pack = (cells.x - 1) / 8 * 8;
      const Int3 first{-layout.halo.x, -layout.halo.y, -layout.halo.z};
      const Int3 last{last_pack + layout.halo.x + 7, cells.y - 1 + layout.halo.y, cells.z - 1 + layout.halo.z};
      CHECK(offset(layout, first) >= 0);
      CHECK(offset(layout, last) < static_cast<std::ptrdiff_t>(layout.field_size));
      // Rows do not overlap: the last vector of a row ends before the left halo of the next begins.
      if (cells.y > 1) CHECK(last.x < layout.stride_y - layout.halo.x);
      if (cells.z > 1) CHECK(offset(layout, {last.x, last.y, 0}) < offset(layout, {first.x, first.y, 1}));
    }
}

TEST_CASE("inactive axes have no halo and stride 0, but x always has one", "[state]") {
  const HostLayout line(make_grid({20, 1, 1}, 6), {20, 1, 1});
  CHECK(line.halo == Int3{3, 0, 0});
  CHECK(line.stride_y == 0);
  CHECK(line.stride_z == 0);
  const HostLayout plane(make_grid({1, 16, 1}, 6), {1, 16, 1});
  CHECK(plane.halo == Int3{3, 3, 0});
  CHECK(plane.stride_y > 0);
  // A subdomain of one cell along an active axis is not an inactive axis.
  const HostLayout thin(make_grid({8, 8, 4}, 2), {8, 8, 1});
  CHECK(thin.halo == Int3{1, 1, 1});
  CHECK(thin.stride_z > 0);
}

TEST_CASE("rows, planes and fields do not alias in the cache", "[state]") {
  for (int x = 8; x <= 512; x += 8) {
    const Int3 cells{x, 58, 10};
    const HostLayout layout(make_grid(cells, 6), cells);
    CHECK(layout.stride_y * 8 % 512 != 0);
    CHECK(layout.stride_z * 8 % 4096 != 0);
    CHECK(layout.field_size * 8 % 4096 != 0);
  }
}

TEST_CASE("a new state is zero, aligned, and holds the interior that it is given", "[state]") {
  const Int3 cells{5, 4, 3};
  HostState state(HostLayout(make_grid(cells, 6), cells), 2);
  const HostLayout& layout = state.layout();
  for (int slot = 0; slot < 2; ++slot) {
    CHECK(reinterpret_cast<std::uintptr_t>(state.cell(slot)) % 64 == 0);
    const double* start = state.cell(slot) - layout.origin;
    CHECK(std::accumulate(start, start + layout.field_size, 0.0) == 0);
  }
  std::vector<double> values(60);
  std::iota(values.begin(), values.end(), 1.0);
  state.set_interior(1, values);
  const FieldView view = state.view(1);
  for (int k = 0; k < 3; ++k)
    for (int j = 0; j < 4; ++j)
      for (int i = 0; i < 5; ++i)
        CHECK(view.data[i + j * view.stride_y + k * view.stride_z] == 1 + i + 5 * (j + 4 * k));
  const double* start = state.cell(1) - layout.origin;
  CHECK(std::accumulate(start, start + layout.field_size, 0.0) == 60 * 61 / 2);
  CHECK(state.view(0).data[0] == 0);
  CHECK_THROWS_AS(state.set_interior(0, std::vector<double>(59)), Error);
}
