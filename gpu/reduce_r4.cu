// Reductions of order 8.
#include "gpu/reduce.cuh"

namespace mhd::gpu {

ReductionKernels reduction_kernels_r4(FieldSet fields) { return reduction_kernels_of_radius<4>(fields); }

}  // namespace mhd::gpu
