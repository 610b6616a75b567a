// Substep kernels of order 8.
#include "gpu/substep.cuh"

namespace mhd::gpu {

SubstepKernel substep_kernel_r4(FieldSet fields, bool tensor_copies) {
  return substep_kernel_of_radius<4>(fields, tensor_copies);
}

}  // namespace mhd::gpu
