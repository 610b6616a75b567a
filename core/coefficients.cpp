#include "core/coefficients.hpp"

#include <algorithm>
#include <cmath>

#include "core/config.hpp"

namespace mhd {
namespace {

/// Undivided coefficients of one order: first[k-1], second[k] with the centre at 0.
struct Table {
  double first[max_radius];
  double second[max_radius + 1];
};

constexpr Table tables[max_radius] = {
    {{1.0 / 2}, {-2.0, 1.0}},
    {{2.0 / 3, -1.0 / 12}, {-5.0 / 2, 4.0 / 3, -1.0 / 12}},
    {{3.0 / 4, -3.0 / 20, 1.0 / 60}, {-49.0 / 18, 3.0 / 2, -3.0 / 20, 1.0 / 90}},
    {{4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280}, {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560}},
};

}  // namespace

StencilCoefficients stencil_coefficients(const Grid& grid) {
  const Table& table = tables[grid.radius() - 1];
  const double inverse[3] = {grid.inverse_spacing(0), grid.inverse_spacing(1), grid.inverse_spacing(2)};
  StencilCoefficients c{};
  for (int axis = 0; axis < 3; ++axis) {
    const double inverse2 = inverse[axis] * inverse[axis];
    for (int k = 1; k <= grid.radius(); ++k) {
      c.first[axis][k - 1] = table.first[k - 1] * inverse[axis];
      c.second[axis][k] = table.second[k] * inverse2;
    }
    c.second[axis][0] = table.second[0] * inverse2;
  }
  for (int k = 1; k <= grid.radius(); ++k) {
    const double mixed = table.second[k] / 4;
    c.mixed_xy[k - 1] = mixed * (inverse[0] * inverse[1]);
    c.mixed_xz[k - 1] = mixed * (inverse[0] * inverse[2]);
    c.mixed_yz[k - 1] = mixed * (inverse[1] * inverse[2]);
  }
  c.centre = (c.second[0][0] + c.second[1][0]) + c.second[2][0];
  c.centre_others[0] = c.second[1][0] + c.second[2][0];
  c.centre_others[1] = c.second[0][0] + c.second[2][0];
  c.centre_others[2] = c.second[0][0] + c.second[1][0];
  return c;
}

namespace {

PhysicsCoefficients physics_coefficients(const PhysicsConfig& c) {
  const bool entropy = c.equation_of_state == EquationOfState::ideal_gas;
  PhysicsCoefficients p{};
  p.lnrho0 = std::log(c.reference_density);
  p.cs20 = c.sound_speed * c.sound_speed;
  p.gamma_over_cp = c.gamma / c.cp;
  p.gamma_minus_1 = c.gamma - 1;
  p.inverse_cp = 1 / c.cp;
  p.cv = c.cp / c.gamma;
  if (entropy) {
    p.temperature0 = p.cs20 / (c.cp * p.gamma_minus_1);
    p.inverse_temperature0 = 1 / p.temperature0;
    (c.conduction_kind == ConductionKind::k_const ? p.conductivity : p.chi_cp) =
        c.conduction_kind == ConductionKind::k_const ? c.conduction : c.conduction * c.cp;
  }
  (c.viscosity_kind == ViscosityKind::nu_const ? p.nu : p.mu) = c.viscosity;
  p.zeta = c.bulk_viscosity;
  p.inverse_mu0 = 1 / c.mu0;
  if (c.magnetic) {
    p.eta = c.resistivity;
    p.eta_mu0 = c.resistivity * c.mu0;
    for (int i = 0; i < 3; ++i) p.external_field[i] = c.external_field[i];
  }
  return p;
}

CourantCoefficients courant_coefficients(const Config& config, const PhysicsCoefficients& p) {
  const Grid grid(config.grid);
  CourantCoefficients c{};
  for (int axis = 0; axis < 3; ++axis) {
    c.inverse_spacing[axis] = grid.inverse_spacing(axis);
    c.inverse_spacing2_sum += c.inverse_spacing[axis] * c.inverse_spacing[axis];
  }
  c.inverse_advective = 1 / config.time.courant_advective;
  c.inverse_diffusive = c.inverse_spacing2_sum / config.time.courant_diffusive;
  c.diffusivity = std::max({p.nu, p.zeta, p.eta, config.physics.gamma * p.chi_cp * p.inverse_cp});
  c.mu = p.mu;
  c.conductivity = config.physics.gamma * p.conductivity * p.inverse_cp;
  return c;
}

}  // namespace

Coefficients coefficients(const Config& config) {
  Coefficients c;
  c.stencil = stencil_coefficients(Grid(config.grid));
  c.physics = physics_coefficients(config.physics);
  c.courant = courant_coefficients(config, c.physics);
  return c;
}

}  // namespace mhd
