#pragma once
// Owned memory: on the device, and pinned on the host. Move-only; allocated once, freed in the destructor.

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <span>

#include "gpu/cuda_check.hpp"

namespace mhd::gpu {

/// Errors are ignored when memory is freed: it may happen while an exception unwinds.
struct FreeDevice {
  void operator()(void* p) const { static_cast<void>(cudaFree(p)); }
};
struct FreePinned {
  void operator()(void* p) const { static_cast<void>(cudaFreeHost(p)); }
};

template <class T, class Free>
class Buffer {
 public:
  Buffer() = default;
  Buffer(T* data, std::size_t size) : data_(data), size_(size) {}
  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  std::span<T> span() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0;
};

template <class T>
using DeviceBuffer = Buffer<T, FreeDevice>;
template <class T>
using PinnedBuffer = Buffer<T, FreePinned>;

/// `size` elements of T; none for size 0.
template <class T>
DeviceBuffer<T> device_buffer(std::size_t size) {
  void* p = nullptr;
  if (size > 0) check_cuda(cudaMalloc(&p, size * sizeof(T)), "cudaMalloc");
  return {static_cast<T*>(p), size};
}
template <class T>
PinnedBuffer<T> pinned_buffer(std::size_t size) {
  void* p = nullptr;
  if (size > 0) check_cuda(cudaMallocHost(&p, size * sizeof(T)), "cudaMallocHost");
  return {static_cast<T*>(p), size};
}

}  // namespace mhd::gpu
