// Chooses the widest CPU kernels that this processor can run.

#include <cstdlib>
#include <string_view>

#include "core/cpu_kernel.hpp"

namespace mhd {

namespace baseline {
CpuKernels kernels(int radius, FieldSet fields);
}
#if MHD_X86_DISPATCH
namespace avx2 {
CpuKernels kernels(int radius, FieldSet fields);
}
namespace avx512 {
CpuKernels kernels(int radius, FieldSet fields);
}
#endif

CpuKernels cpu_kernels(int radius, FieldSet fields) {
  CpuKernels k = baseline::kernels(radius, fields);
  k.instruction_set = "baseline";
#if MHD_X86_DISPATCH
  const char* wish = std::getenv("MHDSIM_ISA");
  const std::string_view limit = wish ? wish : "avx512";
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("x86-64-v3"), has_avx512 = __builtin_cpu_supports("x86-64-v4");
  if (has_avx2 && limit != "baseline") {
    k = avx2::kernels(radius, fields);
    k.instruction_set = "avx2";
    if (has_avx512 && limit == "avx512") {
      k = avx512::kernels(radius, fields);
      k.instruction_set = "avx512";
    }
  }
#endif
  return k;
}

}  // namespace mhd
