#pragma once
// Ends a run whose state is no longer finite, saying where.

#include <cstdint>

#include "core/comm.hpp"
#include "core/decomposition.hpp"
#include "core/fields.hpp"
#include "core/solver.hpp"

namespace mhd {

/// Collective. Throws Error(numerics, everywhere) naming the field, the global cell (first in [z][y][x] order), its
/// coordinates and the rank of a non-finite value of the present state; where there is none, says that the time step is
/// not finite.
[[noreturn]] void throw_not_finite(Solver& solver, const Decomposition& decomposition, FieldSet fields,
                                   const Comm& comm, std::int64_t step, double t);

}  // namespace mhd
