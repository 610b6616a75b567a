#pragma once
// exp and friends, with the same bits on every backend: plain IEEE operations and explicit fused multiply-adds only, no
// library call, no branch, so that the same text compiles for double, for SIMD packs (core/pack.hpp) and for the
// device.

#include <cstdint>

#include "core/host_device.hpp"

namespace mhd {

/// a*b + c, rounded once.
MHD_HD double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
MHD_HD double sqrt(double a) { return __builtin_sqrt(a); }
MHD_HD double abs(double a) { return __builtin_fabs(a); }
/// The larger (smaller) value; NaN where `a` is NaN.
MHD_HD double larger(double a, double b) { return a < b ? b : a; }
MHD_HD double smaller(double a, double b) { return b < a ? b : a; }

/// 2^n, and 2^-n, for the integer n in the low bits of shifted = n + 1.5 * 2^52; |n| <= 1022.
MHD_HD double power_of_two(double shifted) {
#if defined(__CUDA_ARCH__)
  return __hiloint2double((__double2loint(shifted) + 1023) << 20, 0);
#else
  return __builtin_bit_cast(double, (__builtin_bit_cast(std::int64_t, shifted) + 1023) << 52);
#endif
}
MHD_HD double inverse_power_of_two(double shifted) {
#if defined(__CUDA_ARCH__)
  return __hiloint2double((1023 - __double2loint(shifted)) << 20, 0);
#else
  return __builtin_bit_cast(double, (1023 - __builtin_bit_cast(std::int64_t, shifted)) << 52);
#endif
}

template <class V>
struct ExpPair {
  V plus;   ///< exp(x)
  V minus;  ///< exp(-x)
};

/// exp(x) and exp(-x), each with an error below 1 ulp for |x| <= 708; beyond that the argument is clamped, so that the
/// result stays finite and positive. NaN gives NaN.
///
/// x = n ln2 + r, |r| <= ln2/2, with the rounding error of r kept in `rest`;
/// exp(+-r) = 1 + (+-r + (r^2 C(r^2) +- r^3 S(r^2) +- rest)), C = (cosh r - 1)/r^2, S = (sinh r - r)/r^3: minimax
/// polynomials on |r| <= ln2/2, which contribute 2e-20 and 8e-19. The two signs share all but the last operations.
template <class V>
MHD_HD ExpPair<V> exp_pair(V x) {
  constexpr double limit = 708.0, log2e = 0x1.71547652b82fep+0, shifter = 0x1.8p52;
  constexpr double ln2_high = 0x1.62e42fefa3800p-1;  // trailing zeros: n * ln2_high is exact
  constexpr double ln2_low = 0x1.ef35793c76730p-45;
  x = smaller(larger(x, V(-limit)), V(limit));
  const V shifted = fma(x, V(log2e), V(shifter));
  const V n = shifted - V(shifter);
  const V r_high = fma(n, V(-ln2_high), x);
  const V r = fma(n, V(-ln2_low), r_high);
  const V rest = fma(n, V(-ln2_low), r_high - r);
  const V r2 = r * r;
  V c = fma(r2, V(0x1.1f7f20132b4f4p-29), V(0x1.27e4d41d657d2p-22));
  c = fma(r2, c, V(0x1.a01a01a9e8139p-16));
  c = fma(r2, c, V(0x1.6c16c16c15a6cp-10));
  c = fma(r2, c, V(0x1.5555555555557p-5));
  c = fma(r2, c, V(0.5));
  V s = fma(r2, V(0x1.af389eea54156p-26), V(0x1.71de0db2eb873p-19));
  s = fma(r2, s, V(0x1.a01a01a7c2f2cp-13));
  s = fma(r2, s, V(0x1.11111111109b5p-7));
  s = fma(r2, s, V(0x1.5555555555556p-3));
  const V even = r2 * c;
  const V odd = fma(r2 * r, s, rest);
  return {(V(1.0) + (r + (even + odd))) * power_of_two(shifted),
          (V(1.0) + ((even - odd) - r)) * inverse_power_of_two(shifted)};
}

template <class V>
MHD_HD V exp(V x) {
  return exp_pair(x).plus;
}

}  // namespace mhd
