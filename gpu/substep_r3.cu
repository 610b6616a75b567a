// Substep kernels of order 6.
#include "gpu/substep.cuh"

namespace mhd::gpu {

SubstepKernel substep_kernel_r3(FieldSet fields, bool tensor_copies) {
  return substep_kernel_of_radius<3>(fields, tensor_copies);
}

}  // namespace mhd::gpu
