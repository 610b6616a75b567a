#include "gpu/device.hpp"

#include <cuda_runtime.h>

#include <cstdio>

#include "core/error.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/layout.hpp"

namespace mhd::gpu {
namespace {

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    char two[4];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += two;
  }
  return text;
}

}  // namespace

int device_count(std::string* why) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());  // it is not the error of a later call
  if (why) *why = cudaGetErrorString(code);
  return 0;
}

DeviceInfo device_info(int index) {
  cudaDeviceProp p{};
  check_cuda(cudaGetDeviceProperties(&p, index), "cudaGetDeviceProperties");
  DeviceInfo info;
  info.index = index;
  info.name = p.name;
  char pci[32] = "";
  check_cuda(cudaDeviceGetPCIBusId(pci, sizeof pci, index), "cudaDeviceGetPCIBusId");
  info.pci = pci;
  info.uuid = uuid_text(p.uuid);
  info.major = p.major;
  info.minor = p.minor;
  info.multiprocessors = p.multiProcessorCount;
  int present = 0;
  check_cuda(cudaGetDevice(&present), "cudaGetDevice");
  check_cuda(cudaSetDevice(index), "cudaSetDevice");
  check_cuda(cudaMemGetInfo(&info.free_bytes, &info.total_bytes), "cudaMemGetInfo");
  if (present != index) check_cuda(cudaSetDevice(present), "cudaSetDevice");
  check_cuda(cudaDriverGetVersion(&info.driver), "cudaDriverGetVersion");
  check_cuda(cudaRuntimeGetVersion(&info.runtime), "cudaRuntimeGetVersion");
  return info;
}

DeviceInfo current_device() {
  int index = 0;
  check_cuda(cudaGetDevice(&index), "cudaGetDevice");
  return device_info(index);
}

DeviceInfo select_device(int local_rank, int ranks_on_node, bool oversubscribe) {
  std::string why = "the driver reports none";
  const int count = device_count(&why);
  if (count == 0) throw Error(ExitCode::device, "no usable GPU on this node: " + why);
  if (ranks_on_node > count && !oversubscribe)
    throw Error(ExitCode::device, std::to_string(ranks_on_node) + " ranks on a node with " + std::to_string(count) +
                                      " GPUs; start one rank per GPU, or set run.oversubscribe = true");
  check_cuda(cudaSetDevice(local_rank % count), "cudaSetDevice");
  return device_info(local_rank % count);
}

int devices_needed(const Grid& grid, FieldSet fields, std::size_t bytes_per_device) {
  for (int devices = 1; devices <= (1 << 20); devices *= 2) {
    try {
      const Decomposition decomposition(grid, devices);
      if (device_bytes(decomposition, 0, fields) <= bytes_per_device) return devices;
    } catch (const Error&) {
      // No decomposition into this number of subdomains: a larger one may exist.
    }
  }
  return 0;
}

}  // namespace mhd::gpu
