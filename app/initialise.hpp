#pragma once
// Puts the configured initial condition into a solver or a model solution.

#include <functional>
#include <span>

#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/grid.hpp"

namespace mhd {

/// Hands the initial values [z][y][x] of the cells of `box`, slot by slot, to `set`. Collective over `comm`, since kind
/// snapshot reads a file.
void for_each_initial_field(const Config& config, const Box& box, const Comm& comm,
                            const std::function<void(int slot, std::span<const double>)>& set);

}  // namespace mhd
