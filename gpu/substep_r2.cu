// Substep kernels of order 4.
#include "gpu/substep.cuh"

namespace mhd::gpu {

SubstepKernel substep_kernel_r2(FieldSet fields, bool tensor_copies) {
  return substep_kernel_of_radius<2>(fields, tensor_copies);
}

}  // namespace mhd::gpu
