#include <chrono>
#include <thread>

#include "gpu/cuda_check.hpp"
#include "gpu/stress.hpp"

namespace mhd::gpu {
namespace {

__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}

__global__ void spin(unsigned long long duration) {
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < duration) {
  }
}

}  // namespace

std::int64_t Stress::next() {
  state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  const std::uint64_t bits = state_ >> 33;
  return bits & 1 ? 0 : static_cast<std::int64_t>(bits % 200000);
}

void Stress::delay(cudaStream_t stream) {
  if (state_ == 0) return;
  const std::int64_t duration = next();
  if (duration == 0) return;
  spin<<<1, 1, 0, stream>>>(static_cast<unsigned long long>(duration));
  check_launch("delay");
}

void Stress::delay_host() {
  if (state_ == 0) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(next());
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

}  // namespace mhd::gpu
