#pragma once
// What the tests of the GPU solver share.

#include "core/config.hpp"

namespace mhd {

/// A run with all terms of the equations, random initial fields and unequal spacings.
inline Config gpu_test_config(Int3 cells, int order, bool magnetic = true, bool entropy = true) {
  Config c;
  c.grid.cells = cells;
  c.grid.order = order;
  c.grid.size = {1.0 * cells.x, 1.1 * cells.y, 0.9 * cells.z};
  c.physics.magnetic = magnetic;
  c.physics.equation_of_state = entropy ? EquationOfState::ideal_gas : EquationOfState::isothermal;
  c.physics.viscosity = 0.02;
  c.physics.bulk_viscosity = 0.01;
  c.physics.viscosity_kind = order % 4 == 0 ? ViscosityKind::nu_const : ViscosityKind::rho_nu_const;
  c.physics.resistivity = magnetic ? 0.03 : 0;
  c.physics.conduction = entropy ? 0.05 : 0;
  c.physics.conduction_kind = order % 4 == 0 ? ConductionKind::k_const : ConductionKind::chi_const;
  if (magnetic) c.physics.external_field = {0.1, -0.2, 0.3};
  c.initial.kind = InitialKind::random;
  c.initial.low = -0.3;
  c.initial.high = 0.3;
  return c;
}

}  // namespace mhd
