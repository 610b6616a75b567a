#pragma once
// W doubles side by side in x, with the operations that the physics is written in. Every lane computes exactly what a
// plain double would.

#include <cstdint>
#include <cstring>

#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "core/math.hpp"

namespace mhd {

/// The compiler's vector types of W elements.
template <int W>
struct PackTypes;
template <>
struct PackTypes<2> {
  using Vector __attribute__((vector_size(16))) = double;
  using Integers __attribute__((vector_size(16))) = std::int64_t;
};
template <>
struct PackTypes<4> {
  using Vector __attribute__((vector_size(32))) = double;
  using Integers __attribute__((vector_size(32))) = std::int64_t;
};
template <>
struct PackTypes<8> {
  using Vector __attribute__((vector_size(64))) = double;
  using Integers __attribute__((vector_size(64))) = std::int64_t;
};

template <int W>
struct Pack {
  using Vector = typename PackTypes<W>::Vector;
  using Integers = typename PackTypes<W>::Integers;
  Vector v;

  Pack() = default;
  MHD_HD explicit Pack(Vector value) : v(value) {}
  MHD_HD explicit Pack(double value) : v(value - Vector{}) {}

  static MHD_HD Pack load(const double* p) {
    Pack r;
    std::memcpy(&r.v, p, sizeof(r.v));
    return r;
  }
  MHD_HD void store(double* p) const { std::memcpy(p, &v, sizeof(v)); }
  /// Stores the first n lanes.
  MHD_HD void store(double* p, int n) const { std::memcpy(p, &v, sizeof(double) * static_cast<unsigned>(n)); }
  /// The first n lanes, zero in the others.
  MHD_HD Pack first(int n) const {
    Pack r(0.0);
    for (int i = 0; i < n; ++i) r.v[i] = v[i];
    return r;
  }

  friend MHD_HD Pack operator+(Pack a, Pack b) { return Pack(a.v + b.v); }
  friend MHD_HD Pack operator-(Pack a, Pack b) { return Pack(a.v - b.v); }
  friend MHD_HD Pack operator*(Pack a, Pack b) { return Pack(a.v * b.v); }
  friend MHD_HD Pack operator*(double a, Pack b) { return Pack(a) * b; }
  friend MHD_HD Pack operator+(Pack a, double b) { return a + Pack(b); }
  friend MHD_HD Pack operator-(Pack a, double b) { return a - Pack(b); }
  friend MHD_HD Pack operator-(Pack a) { return Pack(-a.v); }
};

template <int W>
MHD_HD Pack<W> fma(Pack<W> a, Pack<W> b, Pack<W> c) {
#if defined(__AVX512F__)
  if constexpr (W == 8) return Pack<W>(typename Pack<W>::Vector(_mm512_fmadd_pd(a.v, b.v, c.v)));
#endif
#if defined(__AVX2__) && defined(__FMA__)
  if constexpr (W == 4) return Pack<W>(typename Pack<W>::Vector(_mm256_fmadd_pd(a.v, b.v, c.v)));
#endif
  Pack<W> r;
  for (int i = 0; i < W; ++i) r.v[i] = __builtin_fma(a.v[i], b.v[i], c.v[i]);
  return r;
}
template <int W>
MHD_HD Pack<W> fma(double a, Pack<W> b, Pack<W> c) {
  return fma(Pack<W>(a), b, c);
}
template <int W>
MHD_HD Pack<W> fma(double a, Pack<W> b, double c) {
  return fma(Pack<W>(a), b, Pack<W>(c));
}

template <int W>
MHD_HD Pack<W> sqrt(Pack<W> a) {
#if defined(__AVX512F__)
  if constexpr (W == 8) return Pack<W>(typename Pack<W>::Vector(_mm512_maskz_sqrt_pd(0xff, a.v)));
#endif
#if defined(__AVX2__)
  if constexpr (W == 4) return Pack<W>(typename Pack<W>::Vector(_mm256_sqrt_pd(a.v)));
#endif
  Pack<W> r;
  for (int i = 0; i < W; ++i) r.v[i] = __builtin_sqrt(a.v[i]);
  return r;
}
template <int W>
MHD_HD Pack<W> abs(Pack<W> a) {
  using Integers = typename Pack<W>::Integers;
  const Integers magnitude = Integers{} + 0x7fffffffffffffff;
  return Pack<W>(reinterpret_cast<typename Pack<W>::Vector>(reinterpret_cast<Integers>(a.v) & magnitude));
}
template <int W>
MHD_HD Pack<W> larger(Pack<W> a, Pack<W> b) {
  return Pack<W>(a.v < b.v ? b.v : a.v);
}
template <int W>
MHD_HD Pack<W> smaller(Pack<W> a, Pack<W> b) {
  return Pack<W>(b.v < a.v ? b.v : a.v);
}
template <int W>
MHD_HD Pack<W> power_of_two(Pack<W> shifted) {
  using Integers = typename Pack<W>::Integers;
  return Pack<W>(reinterpret_cast<typename Pack<W>::Vector>((reinterpret_cast<Integers>(shifted.v) + 1023) << 52));
}
template <int W>
MHD_HD Pack<W> inverse_power_of_two(Pack<W> shifted) {
  using Integers = typename Pack<W>::Integers;
  return Pack<W>(reinterpret_cast<typename Pack<W>::Vector>((1023 - reinterpret_cast<Integers>(shifted.v)) << 52));
}

}  // namespace mhd
