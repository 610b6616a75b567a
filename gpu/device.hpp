#pragma once
// Which devices there are. Works, and says so, without a device or a driver. No CUDA headers here.

#include <cstddef>
#include <string>

#include "core/comm.hpp"
#include "core/decomposition.hpp"
#include "core/fields.hpp"

namespace mhd::gpu {

struct DeviceInfo {
  int index = -1;
  std::string name;
  std::string pci;           ///< "0000:3b:00.0"
  std::string uuid;          ///< "GPU-..." as nvidia-smi prints it
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 0;
  std::size_t total_bytes = 0, free_bytes = 0;
  int driver = 0, runtime = 0;  ///< versions, 1000 major + 10 minor
};

/// Usable devices; 0 without a device or driver. `why`, if given, then says what the driver answered.
int device_count(std::string* why = nullptr);

/// Properties of a device, in the order that CUDA_VISIBLE_DEVICES leaves. Throws Error(device).
DeviceInfo device_info(int index);

/// Properties of the device that this process uses. Throws Error(device).
DeviceInfo current_device();

/// Makes device (local_rank mod count) the one that this process uses. Throws Error(device) without a device, or where
/// two ranks would share one and `oversubscribe` is false.
DeviceInfo select_device(int local_rank, int ranks_on_node, bool oversubscribe);

/// Device memory that GpuSolver allocates on this rank (bytes); needs no device.
std::size_t device_bytes(const Decomposition& decomposition, int rank, FieldSet fields, bool corners = false);

/// Smallest number of devices with `bytes_per_device` each that hold this grid; 0 if none up to 2^20 does.
int devices_needed(const Grid& grid, FieldSet fields, std::size_t bytes_per_device);

}  // namespace mhd::gpu
