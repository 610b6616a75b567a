#pragma once
// What the device can do at most, measured: to compare a step with in the same run. No CUDA headers here.

namespace mhd::gpu {

struct Ceilings {
  double bytes_per_second = 0;  ///< read plus written by a copy kernel on arrays far larger than the L2 cache
  double flops = 0;             ///< FP64, fused multiply-adds counted as two
};

/// On the current device; takes about 50 ms and up to 2 GiB of free memory. Throws Error(device).
Ceilings measure_ceilings();

}  // namespace mhd::gpu
