#pragma once
// What one cell contributes to the reductions behind the series columns (docs/output.md).

#include "core/mhd.hpp"

namespace mhd {

/// Entries of DiagnosticSums::sums. Entries of absent fields are zero.
namespace sum_of {
enum Index : int {
  ux,
  uy,
  uz,
  ux2,
  uy2,
  uz2,
  rux,
  ruy,
  ruz,
  ekin,
  rho,
  vorticity2,
  helicity,
  divergence,
  viscous_heating,
  bx2,
  by2,
  bz2,
  b2,
  j2,
  ab,
  jb,
  ohmic_heating,
  alfven2,
  ss,
  ss2,
  thermal_energy,
  temperature,
  cs2,
  count
};
}  // namespace sum_of

/// Entries of DiagnosticSums::maxima; minima are maxima of the negative.
namespace max_of {
enum Index : int {
  u2,
  rho,
  minus_rho,
  vorticity2,
  b2,
  j2,
  alfven2,
  ss,
  minus_ss,
  temperature,
  minus_temperature,
  cs2,
  count
};
}  // namespace max_of

template <class V>
struct DiagnosticTerms {
  V sums[sum_of::count];
  V maxima[max_of::count];
};

template <bool Magnetic, bool Entropy, class V>
MHD_HD DiagnosticTerms<V> diagnostic_terms(const PhysicsCoefficients& p, V lnrho, V ss, const V (&u)[3],
                                           const V (&grad_u)[3][3], const VectorDerivatives<V>& a) {
  DiagnosticTerms<V> t;
  for (V& s : t.sums) s = V(0.0);
  for (V& m : t.maxima) m = V(0.0);
  const ExpPair<V> density = exp_pair(lnrho);
  const V rho = density.plus;
  const V u2 = dot(u, u);
  V vorticity[3];
  curl(grad_u, vorticity);
  const RateOfStrain<V> strain(grad_u);
  for (int i = 0; i < 3; ++i) {
    t.sums[sum_of::ux + i] = u[i];
    t.sums[sum_of::ux2 + i] = u[i] * u[i];
    t.sums[sum_of::rux + i] = rho * u[i];
  }
  t.sums[sum_of::ekin] = 0.5 * (rho * u2);
  t.sums[sum_of::rho] = rho;
  t.sums[sum_of::vorticity2] = dot(vorticity, vorticity);
  t.sums[sum_of::helicity] = dot(u, vorticity);
  t.sums[sum_of::divergence] = strain.divergence;
  const V viscosity = fma(p.mu, density.minus, V(p.nu));
  t.sums[sum_of::viscous_heating] =
      rho * fma(viscosity, strain.twice_contraction(), p.zeta * (strain.divergence * strain.divergence));
  t.maxima[max_of::u2] = u2;
  t.maxima[max_of::rho] = rho;
  t.maxima[max_of::minus_rho] = -rho;
  t.maxima[max_of::vorticity2] = t.sums[sum_of::vorticity2];

  if constexpr (Magnetic) {
    V own_field[3];  // without the external field
    curl(a.gradient, own_field);
    const MagneticField<V> m = magnetic_field(p, a);
    for (int i = 0; i < 3; ++i) t.sums[sum_of::bx2 + i] = own_field[i] * own_field[i];
    const V b2 = dot(m.b, m.b);
    const V alfven2 = (p.inverse_mu0 * density.minus) * b2;
    t.sums[sum_of::b2] = t.maxima[max_of::b2] = b2;
    t.sums[sum_of::j2] = t.maxima[max_of::j2] = dot(m.j, m.j);
    t.sums[sum_of::ohmic_heating] = p.eta_mu0 * dot(m.j, m.j);
    t.sums[sum_of::ab] = dot(a.value, own_field);
    t.sums[sum_of::jb] = dot(m.j, own_field);
    t.sums[sum_of::alfven2] = t.maxima[max_of::alfven2] = alfven2;
  }
  if constexpr (Entropy) {
    const V cs2 = thermodynamics<true>(p, lnrho, ss).sound_speed2;
    const V temperature = (p.temperature0 / p.cs20) * cs2;
    t.sums[sum_of::ss] = t.maxima[max_of::ss] = ss;
    t.maxima[max_of::minus_ss] = -ss;
    t.sums[sum_of::ss2] = ss * ss;
    t.sums[sum_of::temperature] = t.maxima[max_of::temperature] = temperature;
    t.maxima[max_of::minus_temperature] = -temperature;
    t.sums[sum_of::thermal_energy] = p.cv * (rho * temperature);
    t.sums[sum_of::cs2] = t.maxima[max_of::cs2] = cs2;
  }
  return t;
}

}  // namespace mhd
