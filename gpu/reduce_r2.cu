// Reductions of order 4.
#include "gpu/reduce.cuh"

namespace mhd::gpu {

ReductionKernels reduction_kernels_r2(FieldSet fields) { return reduction_kernels_of_radius<2>(fields); }

}  // namespace mhd::gpu
