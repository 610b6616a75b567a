#include "gpu/cuda_check.hpp"

#include <string>

#include "core/error.hpp"

namespace mhd::gpu {

void check_cuda(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  throw Error(ExitCode::device,
              std::string(call) + " failed: " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")");
}

}  // namespace mhd::gpu
