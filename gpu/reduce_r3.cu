// Reductions of order 6.
#include "gpu/reduce.cuh"

namespace mhd::gpu {

ReductionKernels reduction_kernels_r3(FieldSet fields) { return reduction_kernels_of_radius<3>(fields); }

}  // namespace mhd::gpu
