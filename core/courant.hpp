#pragma once
// The Courant condition at one cell (docs/physics.md, "Time step").

#include "core/math.hpp"
#include "core/mhd.hpp"

namespace mhd {

struct CourantCoefficients {
  double inverse_spacing[3];    ///< 1/d_i, 0 along inactive directions
  double inverse_spacing2_sum;  ///< D2
  double inverse_advective;     ///< 1/c_adv
  double inverse_diffusive;     ///< D2/c_diff
  double diffusivity;           ///< largest of the constant diffusivities: nu, zeta, eta, gamma chi
  double mu;                    ///< mu, of which mu/rho is a diffusivity
  double conductivity;          ///< gamma K/cp, of which this over rho is a diffusivity
};

/// Square of the local 1/dt:
/// [(sum |u_i|/d_i + sqrt(cs2 D2 + sum (B_i/d_i)^2/(mu0 rho)))/c_adv]^2 + [Dmax D2/c_diff]^2
template <bool Magnetic, bool Entropy, class V>
MHD_HD V courant_rate2(const PhysicsCoefficients& p, const CourantCoefficients& c, V lnrho, V ss, const V (&u)[3],
                       const V (&b)[3]) {
  const Thermodynamics<V> gas = thermodynamics<Entropy>(p, lnrho, ss);
  V wave2 = gas.sound_speed2 * V(c.inverse_spacing2_sum);
  if constexpr (Magnetic) {
    V alfven[3];
    for (int i = 0; i < 3; ++i) alfven[i] = c.inverse_spacing[i] * b[i];
    wave2 = fma(p.inverse_mu0 * gas.inverse_density, dot(alfven, alfven), wave2);
  }
  V speed = sqrt(wave2);
  for (int i = 0; i < 3; ++i) speed = fma(c.inverse_spacing[i], abs(u[i]), speed);
  const V advective = c.inverse_advective * speed;
  V diffusivity = larger(c.mu * gas.inverse_density, V(c.diffusivity));
  if constexpr (Entropy) diffusivity = larger(c.conductivity * gas.inverse_density, diffusivity);
  const V diffusive = c.inverse_diffusive * diffusivity;
  return fma(advective, advective, diffusive * diffusive);
}

}  // namespace mhd
