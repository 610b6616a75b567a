#pragma once
// Every CUDA call is checked; a failure becomes Error(device).

#include <cuda_runtime.h>

namespace mhd::gpu {

/// Throws Error(device) unless `code` is success; `call` says what was tried.
void check_cuda(cudaError_t code, const char* call);
/// After a kernel launch.
inline void check_launch(const char* kernel) { check_cuda(cudaGetLastError(), kernel); }

}  // namespace mhd::gpu
