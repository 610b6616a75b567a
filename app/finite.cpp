#include "app/finite.hpp"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/error.hpp"

namespace mhd {
namespace {

constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();

struct Found {
  std::int64_t index = none;  ///< global cell index times max_fields, plus slot
  Int3 cell{};
  int slot = 0;
  double value = 0;
};

/// The first non-finite value of one rank.
Found find(Solver& solver, const Grid& grid, const Box& box, int fields) {
  Found first;
  for (int slot = 0; slot < fields; ++slot) {
    const FieldView view = solver.field(slot);
    for (int k = 0; k < view.cells.z; ++k)
      for (int j = 0; j < view.cells.y; ++j)
        for (int i = 0; i < view.cells.x; ++i) {
          const double value = view.data[i + j * view.stride_y + k * view.stride_z];
          if (std::isfinite(value)) continue;
          const Int3 cell = box.lower + Int3{i, j, k};
          const std::int64_t index =
              (cell.x + std::int64_t{grid.cells.x} * (cell.y + std::int64_t{grid.cells.y} * cell.z)) * max_fields +
              slot;
          if (index < first.index) first = {index, cell, slot, value};
        }
  }
  return first;
}

}  // namespace

void throw_not_finite(Solver& solver, const Decomposition& decomposition, FieldSet fields, const Comm& comm,
                      std::int64_t step, double t) {
  const Grid& grid = decomposition.grid();
  const Found mine = find(solver, grid, decomposition.box(comm.rank()), fields.count());
  const std::int64_t first = comm.minimum(mine.index);
  if (first == none)
    throw Error(ExitCode::numerics,
                fmt::format("after step {} (t = {}) the Courant condition gives no finite time step, although all "
                            "fields are finite: a velocity, sound speed or Alfven speed is too large to be squared",
                            step, t),
                ErrorScope::everywhere);
  const auto owner = static_cast<int>(comm.minimum(mine.index == first ? std::int64_t{comm.rank()} : none));
  std::string where;
  if (comm.rank() == owner)
    where = fmt::format("{} = {} at cell ({}, {}, {}), x = {:.6g}, y = {:.6g}, z = {:.6g}, on rank {}",
                        name(fields.field(mine.slot)), mine.value, mine.cell.x, mine.cell.y, mine.cell.z,
                        grid.coordinate(0, mine.cell.x), grid.coordinate(1, mine.cell.y),
                        grid.coordinate(2, mine.cell.z), owner);
  where = comm.broadcast(where, owner);
  throw Error(ExitCode::numerics,
              step == 0 ? fmt::format("non-finite value found in the initial condition: {}", where)
                        : fmt::format("non-finite value found after step {} (t = {}): {}. The time step may be too "
                                      "long or the diffusivities too small for this grid.",
                                      step, t, where),
              ErrorScope::everywhere);
}

}  // namespace mhd
