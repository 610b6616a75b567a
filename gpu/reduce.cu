#include "gpu/cuda_check.hpp"
#include "gpu/reduce.hpp"

namespace mhd::gpu {
namespace {

__global__ void clear(ReductionResults* r) {
  const int i = threadIdx.x;
  if (i == 0) r->courant_bits = r->nonfinite = 0;
  if (i < max_of::count) r->maxima[i] = order_key(static_cast<long long>(0xfff0000000000000ULL));  // -infinity
  for (int n = i; n < sum_of::count * (ExactSum::limbs + 1); n += blockDim.x) (&r->limbs[0][0])[n] = 0;
}

}  // namespace

void clear_reductions(ReductionResults* results, cudaStream_t stream) {
  clear<<<1, 128, 0, stream>>>(results);
  check_launch("clear_reductions");
}

ReductionKernels reduction_kernels(int radius, FieldSet fields) {
  switch (radius) {
    case 1:
      return reduction_kernels_r1(fields);
    case 2:
      return reduction_kernels_r2(fields);
    case 3:
      return reduction_kernels_r3(fields);
    default:
      return reduction_kernels_r4(fields);
  }
}

}  // namespace mhd::gpu
