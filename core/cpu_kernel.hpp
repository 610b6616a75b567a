#pragma once
// The loops over cells of the CPU backend. core/cpu_kernel.cpp is compiled once per instruction set (CMakeLists.txt);
// the widest that the processor has is chosen at run time. All give the same bits.

#include <cstddef>

#include "core/box.hpp"
#include "core/coefficients.hpp"
#include "core/diagnostic_terms.hpp"
#include "core/fields.hpp"
#include "core/runge_kutta.hpp"

namespace mhd {

/// Fields of one subdomain as the kernels see them: pointers to cell (0, 0, 0) by slot, and strides for neighbours
/// (0 along an inactive y or z axis). Halos must be valid.
struct KernelFields {
  const double* field[max_fields] = {};
  std::ptrdiff_t stride_y = 0, stride_z = 0;
};

/// Length of the runs in which diagnostics are handed out.
inline constexpr int diagnostic_run = 128;

struct CpuKernels {
  const char* instruction_set = "";
  int lanes = 1;
  /// One substep of the cells of `region` (local indices). `out` holds the previous state and receives the new one; the
  /// first substep does not read it. False if a result of the second or third substep is not finite.
  bool (*substep)(const Coefficients&, const SubstepCoefficients&, bool first, const KernelFields& in,
                  double* const* out, const Box& region) = nullptr;
  /// Largest squared 1/dt; not finite if the state is not.
  double (*courant_rate2)(const Coefficients&, const KernelFields& in, const Box& region) = nullptr;
  /// Terms of `n` <= diagnostic_run cells of row (y, z) from x on: sums[entry * diagnostic_run + i], maxima alike.
  void (*diagnostics)(const Coefficients&, const KernelFields& in, Int3 start, int n, double* sums,
                      double* maxima) = nullptr;
};

/// The kernels for a stencil radius (1..4) and a set of fields, for the widest instruction set of this processor.
/// The environment variable MHDSIM_ISA (baseline, avx2, avx512) chooses a narrower one.
CpuKernels cpu_kernels(int radius, FieldSet fields);

}  // namespace mhd
