// Compiled several times, with MHD_ISA naming the namespace and the compiler flags choosing the instruction set.

#include "core/cpu_kernel.hpp"

#include <algorithm>

#include "core/pack.hpp"

#ifndef MHD_ISA
#define MHD_ISA baseline
#endif

namespace mhd::MHD_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 8;
#elif defined(__AVX2__)
constexpr int lanes = 4;
#else
constexpr int lanes = 2;
#endif
using V = Pack<lanes>;

/// Cells of a row that are done at a time; a multiple of the lanes.
constexpr int row_length = 128;

/// Reads a field around the pack of cells that starts at p.
struct Neighbours {
  const double* p;
  std::ptrdiff_t sy, sz;
  MHD_HD V operator()(int i, int j, int k) const { return V::load(p + i + j * sy + k * sz); }
};

/// True if a lane of an accumulated 0 * value is NaN, i.e. if a value was not finite.
MHD_HD bool any_nan(V accumulated) {
  bool nan = false;
  for (int i = 0; i < lanes; ++i) nan |= !(accumulated.v[i] == 0.0);
  return nan;
}

/// Rows are taken in tiles along y that march in z, so that the planes a stencil reads stay in the cache.
template <class Row>
MHD_HD void for_each_row(const Box& region, int radius, const Row& row) {
  constexpr std::ptrdiff_t cache_bytes = 256 * 1024;
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{region.upper.x - region.lower.x + 2 * max_radius} * 8 * max_fields;
  const int tile = static_cast<int>(
      std::clamp<std::ptrdiff_t>(cache_bytes / (row_bytes * (2 * radius + 1)) - 2 * radius, 4, 1 << 20));
  for (int y0 = region.lower.y; y0 < region.upper.y; y0 += tile) {
    const int y1 = std::min(y0 + tile, region.upper.y);
    for (int z = region.lower.z; z < region.upper.z; ++z)
      for (int y = y0; y < y1; ++y) row(y, z);
  }
}

template <int R, bool Magnetic, bool Entropy>
struct Kernels {
  static constexpr FieldSet fields{Magnetic, Entropy};
  static constexpr int slot_a = 4, slot_ss = fields.slot(Field::ss);

  /// A row is done in two passes, so that each has few enough values for the registers: induction first, which leaves
  /// the force on the fluid in a buffer; then the fluid.
  struct RowBuffer {
    alignas(64) double lorentz[3][row_length];
    alignas(64) double current2[row_length];
  };

  template <bool First>
  struct Row {
    const Coefficients& c;
    const SubstepCoefficients& rk;
    const KernelFields& in;
    double* const* out;
    V bad{0.0};  ///< NaN in a lane once a new value is not finite

    MHD_HD Neighbours field(int slot, std::ptrdiff_t at) const {
      return {in.field[slot] + at, in.stride_y, in.stride_z};
    }
    /// New values of n cells.
    MHD_HD void update(int slot, std::ptrdiff_t at, int n, V rate) {
      const V value = V::load(in.field[slot] + at);
      double* target = out[slot] + at;
      V next;
      if constexpr (First)
        next = advance<true>(rk, value, value, rate);
      else
        next = advance<false>(rk, value, V::load(target), rate);
      if (n >= lanes) [[likely]] {
        next.store(target);
        if constexpr (!First) bad = fma(V(0.0), next, bad);
      } else {
        next.store(target, n);
        if constexpr (!First) bad = fma(V(0.0), next.first(n), bad);
      }
    }
    MHD_HD void induct(std::ptrdiff_t row, int length, RowBuffer& buffer) {
      for (int x = 0; x < length; x += lanes) {
        const std::ptrdiff_t at = row + x;
        const V u[3] = {V::load(in.field[1] + at), V::load(in.field[2] + at), V::load(in.field[3] + at)};
        V rate[3];
        const MagneticForce<V> force = induction(
            c.physics, u, vector_derivatives<R, V>(c.stencil, field(4, at), field(5, at), field(6, at)), rate);
        for (int i = 0; i < 3; ++i) {
          update(slot_a + i, at, length - x, rate[i]);
          force.lorentz[i].store(buffer.lorentz[i] + x);
        }
        force.current2.store(buffer.current2 + x);
      }
    }
    MHD_HD void flow(std::ptrdiff_t row, int length, const RowBuffer& buffer) {
      for (int x = 0; x < length; x += lanes) {
        const std::ptrdiff_t at = row + x;
        MagneticForce<V> force;
        if constexpr (Magnetic) {
          for (int i = 0; i < 3; ++i) force.lorentz[i] = V::load(buffer.lorentz[i] + x);
          force.current2 = V::load(buffer.current2 + x);
        }
        ScalarDerivatives<V> ss;
        if constexpr (Entropy) ss = scalar_derivatives<R, V>(c.stencil, field(slot_ss, at));
        const ScalarDerivatives<V> lnrho = scalar_derivatives<R, V>(c.stencil, field(0, at));
        const Thermodynamics<V> gas = thermodynamics<Entropy>(c.physics, lnrho.value, ss.value);
        const VectorDerivatives<V> u = vector_derivatives<R, V>(c.stencil, field(1, at), field(2, at), field(3, at));
        Rates<V> rate;
        fluid_rates<Magnetic, Entropy>(c.physics, lnrho, u, ss, gas, force, rate);
        update(0, at, length - x, rate.lnrho);
        for (int i = 0; i < 3; ++i) update(1 + i, at, length - x, rate.u[i]);
        if constexpr (Entropy) update(slot_ss, at, length - x, rate.ss);
      }
    }
  };

  template <bool First>
  static bool substep_of(const Coefficients& c, const SubstepCoefficients& rk, const KernelFields& in,
                         double* const* out, const Box& region) {
    Row<First> row{c, rk, in, out};
    RowBuffer buffer;
    for_each_row(region, R, [&](int y, int z) MHD_LAMBDA {
      const std::ptrdiff_t start = y * in.stride_y + z * in.stride_z;
      for (int x = region.lower.x; x < region.upper.x; x += row_length) {
        const int length = std::min(row_length, region.upper.x - x);
        if constexpr (Magnetic) row.induct(start + x, length, buffer);
        row.flow(start + x, length, buffer);
      }
    });
    return !any_nan(row.bad);
  }

  static bool substep(const Coefficients& c, const SubstepCoefficients& rk, bool first, const KernelFields& in,
                      double* const* out, const Box& region) {
    return first ? substep_of<true>(c, rk, in, out, region) : substep_of<false>(c, rk, in, out, region);
  }

  static double courant_rate2(const Coefficients& c, const KernelFields& in, const Box& region) {
    V largest(0.0), bad(0.0);
    for_each_row(region, R, [&](int y, int z) MHD_LAMBDA {
      const std::ptrdiff_t row = y * in.stride_y + z * in.stride_z;
      for (int x = region.lower.x; x < region.upper.x; x += lanes) {
        const std::ptrdiff_t at = row + x;
        V u[3], b[3], ss(0.0);
        for (int i = 0; i < 3; ++i) u[i] = V::load(in.field[1 + i] + at);
        if constexpr (Magnetic) {
          V g[3][3];
          for (int i = 0; i < 3; ++i)
            gradient<R>(c.stencil, Neighbours{in.field[slot_a + i] + at, in.stride_y, in.stride_z}, g[i]);
          curl(g, b);
          for (int i = 0; i < 3; ++i) b[i] = b[i] + c.physics.external_field[i];
        } else {
          for (int i = 0; i < 3; ++i) b[i] = V(0.0);
        }
        if constexpr (Entropy) ss = V::load(in.field[slot_ss] + at);
        V rate2 = courant_rate2_of(c, V::load(in.field[0] + at), ss, u, b);
        if (const int n = region.upper.x - x; n < lanes) rate2 = rate2.first(n);
        largest = larger(largest, rate2);
        bad = fma(V(0.0), rate2, bad);
      }
    });
    double result = 0;
    for (int i = 0; i < lanes; ++i) result = larger(result, largest.v[i]);
    return any_nan(bad) ? __builtin_nan("") : result;
  }

  static MHD_HD V courant_rate2_of(const Coefficients& c, V lnrho, V ss, const V (&u)[3], const V (&b)[3]) {
    return mhd::courant_rate2<Magnetic, Entropy>(c.physics, c.courant, lnrho, ss, u, b);
  }

  static void diagnostics(const Coefficients& c, const KernelFields& in, Int3 start, int n, double* sums,
                          double* maxima) {
    for (int x = 0; x < n; x += lanes) {
      const std::ptrdiff_t at = start.y * in.stride_y + start.z * in.stride_z + start.x + x;
      const auto field = [&](int slot) MHD_LAMBDA { return Neighbours{in.field[slot] + at, in.stride_y, in.stride_z}; };
      V u[3], g[3][3], ss(0.0);
      for (int i = 0; i < 3; ++i) {
        u[i] = V::load(in.field[1 + i] + at);
        gradient<R>(c.stencil, field(1 + i), g[i]);
      }
      VectorDerivatives<V> a;
      if constexpr (Magnetic) a = vector_derivatives<R, V>(c.stencil, field(4), field(5), field(6));
      if constexpr (Entropy) ss = V::load(in.field[slot_ss] + at);
      const V lnrho = V::load(in.field[0] + at);
      const DiagnosticTerms<V> t = diagnostic_terms<Magnetic, Entropy>(c.physics, lnrho, ss, u, g, a);
      const int count = std::min(lanes, n - x);
      for (int s = 0; s < sum_of::count; ++s) t.sums[s].store(sums + s * diagnostic_run + x, count);
      for (int m = 0; m < max_of::count; ++m) t.maxima[m].store(maxima + m * diagnostic_run + x, count);
    }
  }

  static CpuKernels table() { return {"", lanes, &substep, &courant_rate2, &diagnostics}; }
};

template <int R>
CpuKernels of_radius(FieldSet f) {
  if (f.magnetic) return f.entropy ? Kernels<R, true, true>::table() : Kernels<R, true, false>::table();
  return f.entropy ? Kernels<R, false, true>::table() : Kernels<R, false, false>::table();
}

}  // namespace

CpuKernels kernels(int radius, FieldSet f) {
  switch (radius) {
    case 1:
      return of_radius<1>(f);
    case 2:
      return of_radius<2>(f);
    case 3:
      return of_radius<3>(f);
    default:
      return of_radius<4>(f);
  }
}

}  // namespace mhd::MHD_ISA
