#pragma once
// The right-hand side of the compressible MHD equations at one cell, from the derivatives there: the physics, once.
// The equations and their source are in docs/physics.md; "eq." below refers to it.
//
// V is double, a SIMD pack or a device double. What a parameter set switches off is multiplied by zero rather than
// branched around; fields that a run lacks are left out at compile time.

#include "core/derivatives.hpp"
#include "core/math.hpp"

namespace mhd {

/// Constants of the equations, derived once on the host from PhysicsConfig (core/coefficients.cpp).
struct PhysicsCoefficients {
  double lnrho0;         ///< ln of the reference density
  double cs20;           ///< cs0^2
  double gamma_over_cp;  ///< gamma/cp
  double gamma_minus_1;  ///< gamma - 1
  double inverse_cp;     ///< 1/cp
  double temperature0;   ///< T at lnrho0 and ss = 0: cs0^2/(cp (gamma - 1))
  double inverse_temperature0;
  double cv;    ///< cp/gamma
  double nu;    ///< kinematic viscosity (nu-const), else 0
  double mu;    ///< dynamic viscosity (rho-nu-const), else 0
  double zeta;  ///< bulk viscosity, kinematic
  double eta;   ///< magnetic diffusivity
  double eta_mu0;
  double inverse_mu0;
  double conductivity;  ///< K (K-const), else 0
  double chi_cp;        ///< chi cp (chi-const), else 0
  double external_field[3];
};

/// Rates of change; `a` without magnetism and `ss` without entropy are left unset.
template <class V>
struct Rates {
  V lnrho;
  V u[3];
  V a[3];
  V ss;
};

/// Density, sound speed and temperature at a cell.
template <class V>
struct Thermodynamics {
  V inverse_density;
  V sound_speed2;
  V inverse_temperature;  ///< only with entropy
};

/// Ideal gas: cs2 = cs0^2 exp(gamma ss/cp + (gamma-1)(lnrho - lnrho0)), T = cs2/(cp (gamma-1)); isothermal: cs2 =
/// cs0^2.
template <bool Entropy, class V>
MHD_HD Thermodynamics<V> thermodynamics(const PhysicsCoefficients& p, V lnrho, V ss) {
  Thermodynamics<V> t;
  t.inverse_density = exp_pair(lnrho).minus;
  if constexpr (Entropy) {
    const ExpPair<V> e = exp_pair(fma(p.gamma_over_cp, ss, p.gamma_minus_1 * (lnrho - p.lnrho0)));
    t.sound_speed2 = p.cs20 * e.plus;
    t.inverse_temperature = p.inverse_temperature0 * e.minus;
  } else {
    t.sound_speed2 = V(p.cs20);
  }
  return t;
}

template <class V>
MHD_HD V dot(const V (&a)[3], const V (&b)[3]) {
  return fma(a[0], b[0], fma(a[1], b[1], a[2] * b[2]));
}

/// -a.b + c
template <class V>
MHD_HD V minus_dot(const V (&a)[3], const V (&b)[3], V c) {
  return fma(-a[0], b[0], fma(-a[1], b[1], fma(-a[2], b[2], c)));
}

/// Twice the traceless rate of strain, 2 S_ij.
template <class V>
struct RateOfStrain {
  V divergence;
  V twice[3];  ///< 2 S_xx, 2 S_yy, 2 S_zz
  V twice_xy, twice_xz, twice_yz;

  MHD_HD explicit RateOfStrain(const V (&g)[3][3]) {
    divergence = (g[0][0] + g[1][1]) + g[2][2];
    for (int i = 0; i < 3; ++i) {
      const V s = fma(-1.0 / 3.0, divergence, g[i][i]);
      twice[i] = s + s;
    }
    twice_xy = g[0][1] + g[1][0];
    twice_xz = g[0][2] + g[2][0];
    twice_yz = g[1][2] + g[2][1];
  }
  /// 2 S:S
  MHD_HD V twice_contraction() const {
    const V diagonal = fma(twice[0], twice[0], fma(twice[1], twice[1], twice[2] * twice[2]));
    const V off = fma(twice_xy, twice_xy, fma(twice_xz, twice_xz, twice_yz * twice_yz));
    return fma(0.5, diagonal, off);
  }
  /// 2 S.g
  MHD_HD void twice_times(const V (&g)[3], V (&r)[3]) const {
    r[0] = fma(twice[0], g[0], fma(twice_xy, g[1], twice_xz * g[2]));
    r[1] = fma(twice_xy, g[0], fma(twice[1], g[1], twice_yz * g[2]));
    r[2] = fma(twice_xz, g[0], fma(twice_yz, g[1], twice[2] * g[2]));
  }
};

/// B = curl A + B_ext, and the current density j = (grad div A - laplacian A)/mu0.
template <class V>
struct MagneticField {
  V b[3];
  V j[3];
};

template <class V>
MHD_HD void curl(const V (&g)[3][3], V (&c)[3]) {
  c[0] = g[2][1] - g[1][2];
  c[1] = g[0][2] - g[2][0];
  c[2] = g[1][0] - g[0][1];
}

template <class V>
MHD_HD MagneticField<V> magnetic_field(const PhysicsCoefficients& p, const VectorDerivatives<V>& a) {
  MagneticField<V> m;
  curl(a.gradient, m.b);
  for (int i = 0; i < 3; ++i) {
    m.b[i] = m.b[i] + p.external_field[i];
    m.j[i] = p.inverse_mu0 * (a.grad_div[i] - a.laplacian[i]);
  }
  return m;
}

/// What the fluid feels of the magnetic field.
template <class V>
struct MagneticForce {
  V lorentz[3];  ///< j x B
  V current2;    ///< j.j
};

/// Induction, dA/dt = u x B + eta laplacian A, and what the field does to the fluid.
template <class V>
MHD_HD MagneticForce<V> induction(const PhysicsCoefficients& p, const V (&u)[3], const VectorDerivatives<V>& a,
                                  V (&rate_a)[3]) {
  const MagneticField<V> m = magnetic_field(p, a);
  MagneticForce<V> force;
  for (int i = 0; i < 3; ++i) {
    const int k = (i + 1) % 3, l = (i + 2) % 3;
    force.lorentz[i] = fma(m.j[k], m.b[l], -(m.j[l] * m.b[k]));
    rate_a[i] = fma(u[k], m.b[l], fma(-u[l], m.b[k], p.eta * a.laplacian[i]));
  }
  force.current2 = dot(m.j, m.j);
  return force;
}

/// Rates of change of density, velocity and entropy. Without magnetism `magnetic` is not read, without entropy `ss` is
/// not. The rates of `a` are left as they are.
template <bool Magnetic, bool Entropy, class V>
MHD_HD void fluid_rates(const PhysicsCoefficients& p, const ScalarDerivatives<V>& lnrho, const VectorDerivatives<V>& u,
                        const ScalarDerivatives<V>& ss, const Thermodynamics<V>& gas, const MagneticForce<V>& magnetic,
                        Rates<V>& rate) {
  const RateOfStrain<V> strain(u.gradient);

  // Continuity: Dlnrho/Dt = -div u
  rate.lnrho = minus_dot(u.value, lnrho.gradient, -strain.divergence);

  // Momentum: Du/Dt = -cs2 (grad lnrho + grad ss/cp) + j x B/rho + F_visc + zeta grad div u,
  // F_visc = (nu + mu/rho)(laplacian u + grad div u/3) + 2 nu S.grad lnrho covers both kinds of viscosity.
  const V viscosity = fma(p.mu, gas.inverse_density, V(p.nu));
  V strain_lnrho[3];
  strain.twice_times(lnrho.gradient, strain_lnrho);
  for (int i = 0; i < 3; ++i) {
    V force = fma(viscosity, fma(1.0 / 3.0, u.grad_div[i], u.laplacian[i]),
                  fma(p.zeta, u.grad_div[i], p.nu * strain_lnrho[i]));
    V pressure_gradient = lnrho.gradient[i];
    if constexpr (Entropy) pressure_gradient = fma(p.inverse_cp, ss.gradient[i], pressure_gradient);
    force = fma(-gas.sound_speed2, pressure_gradient, force);
    rate.u[i] = minus_dot(u.value, u.gradient[i], force);
  }

  V heating = fma(viscosity, strain.twice_contraction(), p.zeta * (strain.divergence * strain.divergence));

  if constexpr (Magnetic) {
    for (int i = 0; i < 3; ++i) rate.u[i] = fma(gas.inverse_density, magnetic.lorentz[i], rate.u[i]);
    heating = fma(p.eta_mu0 * gas.inverse_density, magnetic.current2, heating);
  }

  if constexpr (Entropy) {
    // T Dss/Dt = heating; conduction of both kinds: (K/rho + chi cp)(laplacian lnT + |grad lnT|^2) + chi cp grad
    // lnrho.grad lnT
    V grad_lnt[3];
    for (int i = 0; i < 3; ++i) grad_lnt[i] = fma(p.gamma_over_cp, ss.gradient[i], p.gamma_minus_1 * lnrho.gradient[i]);
    const V laplacian_lnt = fma(p.gamma_over_cp, ss.laplacian, p.gamma_minus_1 * lnrho.laplacian);
    const V conductivity = fma(p.conductivity, gas.inverse_density, V(p.chi_cp));
    const V conduction =
        fma(conductivity, laplacian_lnt + dot(grad_lnt, grad_lnt), p.chi_cp * dot(lnrho.gradient, grad_lnt));
    rate.ss = minus_dot(u.value, ss.gradient, fma(heating, gas.inverse_temperature, conduction));
  }
}

/// The right-hand side. Without magnetism `a` is not read, without entropy `ss` is not.
template <bool Magnetic, bool Entropy, class V>
MHD_HD Rates<V> right_hand_side(const PhysicsCoefficients& p, const ScalarDerivatives<V>& lnrho,
                                const VectorDerivatives<V>& u, const VectorDerivatives<V>& a,
                                const ScalarDerivatives<V>& ss) {
  Rates<V> rate;
  MagneticForce<V> magnetic;
  if constexpr (Magnetic) magnetic = induction(p, u.value, a, rate.a);
  fluid_rates<Magnetic, Entropy>(p, lnrho, u, ss, thermodynamics<Entropy>(p, lnrho.value, ss.value), magnetic, rate);
  return rate;
}

}  // namespace mhd
