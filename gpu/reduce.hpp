#pragma once
// Reductions over the cells of a subdomain: the Courant condition and the series diagnostics. Both are exact, hence
// independent of the order in which blocks come.

#include <cuda_runtime.h>

#include <cstdint>

#include "core/coefficients.hpp"
#include "core/diagnostic_terms.hpp"
#include "core/exact_sum.hpp"
#include "core/fields.hpp"
#include "gpu/substep.hpp"

namespace mhd::gpu {

/// Results in device memory; `clear` before a reduction.
struct ReductionResults {
  unsigned long long courant_bits;  ///< largest squared 1/dt, as the bits of a double; above infinity: NaN
  unsigned long long nonfinite;     ///< maxima entries that were not finite
  unsigned long long limbs[sum_of::count][ExactSum::limbs + 1];  ///< as ExactSum::pack
  long long maxima[max_of::count];                               ///< bits in the order of integers
  int bad_step;                                                  ///< set by the substep kernels; not cleared here
};

/// Add a box of cells to the results.
struct ReductionKernels {
  using Launch = void(const Coefficients&, const FieldPointers&, const Box& cells, ReductionResults*,
                      int multiprocessors, cudaStream_t);
  Launch* courant;
  Launch* diagnostics;
};

ReductionKernels reduction_kernels_r1(FieldSet fields);
ReductionKernels reduction_kernels_r2(FieldSet fields);
ReductionKernels reduction_kernels_r3(FieldSet fields);
ReductionKernels reduction_kernels_r4(FieldSet fields);
ReductionKernels reduction_kernels(int radius, FieldSet fields);

/// Doubles as integers of the same order, and back.
__host__ __device__ inline long long order_key(long long bits) { return bits ^ ((bits >> 63) & 0x7fffffffffffffffLL); }

/// Resets the results of reductions.
void clear_reductions(ReductionResults* results, cudaStream_t stream);

}  // namespace mhd::gpu
