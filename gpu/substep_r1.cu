// Substep kernels of order 2.
#include "gpu/substep.cuh"

namespace mhd::gpu {

SubstepKernel substep_kernel_r1(FieldSet fields, bool tensor_copies) {
  return substep_kernel_of_radius<1>(fields, tensor_copies);
}

}  // namespace mhd::gpu
