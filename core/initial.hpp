#pragma once
// Initial conditions: each is a pure function of the configuration and the global cell, so that every decomposition
// starts from the same bits.

#include <span>
#include <vector>

#include "core/box.hpp"
#include "core/config.hpp"
#include "core/fields.hpp"
#include "core/grid.hpp"

namespace mhd {

/// The modes whose superposition is the configured kind (docs/physics.md lists them); none for random and snapshot,
/// which are not of this form. Throws Error(configuration) where a wave has no direction.
std::vector<Mode> kind_modes(const Config& config);

/// Fills `out` with the initial values of a field on the global cells of `box`, [z][y][x]. For kind snapshot `out` must
/// hold the values of the file; for all kinds the modes and the noise of the configuration are added on top.
/// Throws Error(internal) where `out` has another size than the box.
void initial_field(const Config& config, const Grid& grid, const Box& box, Field field, std::span<double> out);

}  // namespace mhd
