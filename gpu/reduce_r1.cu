// Reductions of order 2.
#include "gpu/reduce.cuh"

namespace mhd::gpu {

ReductionKernels reduction_kernels_r1(FieldSet fields) { return reduction_kernels_of_radius<1>(fields); }

}  // namespace mhd::gpu
