// Loaded before mhdsim (LD_PRELOAD) by tests of what must work where neither MPI nor CUDA does: whoever starts one of
// them ends at once.

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>

namespace {

constexpr int mpi_started = 97, cuda_started = 98;  // no exit codes of mhdsim

}  // namespace

extern "C" {

int MPI_Init(int*, char***) { _exit(mpi_started); }
int MPI_Init_thread(int*, char***, int, int*) { _exit(mpi_started); }

// The CUDA runtime is linked statically and loads the driver by name.
void* dlopen(const char* name, int flags) {
  if (name && std::strstr(name, "libcuda.so")) _exit(cuda_started);
  using Dlopen = void* (*)(const char*, int);
  return reinterpret_cast<Dlopen>(dlsym(RTLD_NEXT, "dlopen"))(name, flags);
}
}
