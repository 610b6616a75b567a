#pragma once
// Third-order Runge-Kutta of Williamson (1980) in the two-buffer form: the accumulated increment is recovered from the
// present and the previous state, so that no third set of fields is needed.
//
//   w <- a_k w + dt rhs(f),  f <- f + b_k w     with w = (f - f_previous)/b_{k-1}
//   f_new = f + b_k dt rhs(f) + (b_k a_k/b_{k-1}) (f - f_previous)

#include "core/math.hpp"

namespace mhd {

inline constexpr int substeps = 3;

struct SubstepCoefficients {
  double rate;       ///< b_k dt
  double increment;  ///< b_k a_k / b_{k-1}; 0 in the first substep
};

inline SubstepCoefficients substep_coefficients(int substep, double dt) {
  constexpr double a[substeps] = {0, -5.0 / 9.0, -153.0 / 128.0};
  constexpr double b[substeps] = {1.0 / 3.0, 15.0 / 16.0, 8.0 / 15.0};
  return {b[substep] * dt, substep == 0 ? 0.0 : b[substep] * a[substep] / b[substep - 1]};
}

/// Time of a substep's state within the step, in units of dt.
inline double substep_time(int substep) {
  constexpr double c[substeps] = {0, 1.0 / 3.0, 3.0 / 4.0};
  return c[substep];
}

/// First substep: `previous` is not read.
template <bool First, class V>
MHD_HD V advance(const SubstepCoefficients& c, V value, V previous, V rate) {
  if constexpr (First) return fma(c.rate, rate, value);
  return fma(c.rate, rate, fma(c.increment, value - previous, value));
}

}  // namespace mhd
