#pragma once
// Delays of random length, for tests: whatever the order in which the stages of the pipeline come, the bits are the
// same.

#include <cuda_runtime.h>

#include <cstdint>

namespace mhd::gpu {

class Stress {
 public:
  /// Seed 0: no delays.
  explicit Stress(std::uint64_t seed) : state_(seed) {}
  /// Keeps the stream waiting for up to 200 microseconds, or not at all.
  void delay(cudaStream_t stream);
  /// Keeps the calling thread waiting likewise.
  void delay_host();

 private:
  /// Nanoseconds; 0 about half of the time.
  std::int64_t next();
  std::uint64_t state_;
};

}  // namespace mhd::gpu
