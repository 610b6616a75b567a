#include <algorithm>
#include <array>
#include <cstddef>

#include "gpu/buffer.hpp"
#include "gpu/ceilings.hpp"
#include "gpu/stream.hpp"

namespace mhd::gpu {
namespace {

constexpr int threads = 512;

__global__ void copy_kernel(const double2* from, double2* to, std::size_t n) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) to[i] = from[i];
}

/// Eight independent chains per thread keep the pipeline full; the result is stored so that they stay.
__global__ void fma_kernel(double* out, double factor, double summand, int rounds) {
  double x[8];
  for (int i = 0; i < 8; ++i) x[i] = threadIdx.x + i;
  for (int k = 0; k < rounds; ++k) {
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = __fma_rn(x[i], factor, summand);
  }
  double sum = 0;
  for (int i = 0; i < 8; ++i) sum += x[i];
  out[std::size_t{blockIdx.x} * blockDim.x + threadIdx.x] = sum;
}

/// The shortest of several runs, in seconds: a ceiling is what the device can do.
template <class Launch>
double shortest_seconds(const Stream& stream, const Launch& launch) {
  const Event start(true), stop(true);
  double best = 0;
  for (int repeat = 0; repeat < 6; ++repeat) {
    stream.record(start);
    launch();
    check_cuda(cudaGetLastError(), "launch of a benchmark kernel");
    stream.record(stop);
    stop.synchronize();
    const double seconds = stop.seconds_since(start);
    if (repeat > 0) best = best == 0 ? seconds : std::min(best, seconds);  // the first run warms up
  }
  return best;
}

}  // namespace

Ceilings measure_ceilings() {
  int device = 0, multiprocessors = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "cudaDeviceGetAttribute");
  std::size_t free_bytes = 0, total_bytes = 0;
  check_cuda(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  const std::size_t n = std::min<std::size_t>(free_bytes / 4, std::size_t{1} << 30) / sizeof(double2);
  const Stream stream;
  Ceilings ceilings;

  const auto from = device_buffer<double2>(n), to = device_buffer<double2>(n);
  check_cuda(cudaMemsetAsync(from.data(), 1, n * sizeof(double2), stream.get()), "cudaMemsetAsync");
  const int blocks = 16 * multiprocessors;
  const double copy =
      shortest_seconds(stream, [&] { copy_kernel<<<blocks, threads, 0, stream.get()>>>(from.data(), to.data(), n); });
  ceilings.bytes_per_second = 2.0 * static_cast<double>(n * sizeof(double2)) / copy;

  constexpr int rounds = 4096;
  const auto out = device_buffer<double>(std::size_t{8} * multiprocessors * 256);
  const double fma = shortest_seconds(
      stream, [&] { fma_kernel<<<8 * multiprocessors, 256, 0, stream.get()>>>(out.data(), 1.0000001, 1e-9, rounds); });
  ceilings.flops = 2.0 * 8 * rounds * 8.0 * multiprocessors * 256 / fma;
  return ceilings;
}

}  // namespace mhd::gpu
