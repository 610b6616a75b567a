#pragma once
// Streams and events as move-only values.

#include <cuda_runtime.h>

#include <memory>
#include <type_traits>

#include "gpu/cuda_check.hpp"

namespace mhd::gpu {

class Event {
 public:
  /// Events that are to be timed cost a little more.
  explicit Event(bool timed = false) {
    cudaEvent_t e = nullptr;
    check_cuda(cudaEventCreateWithFlags(&e, timed ? cudaEventDefault : cudaEventDisableTiming), "cudaEventCreate");
    handle_.reset(e);
  }
  cudaEvent_t get() const { return handle_.get(); }
  void synchronize() const { check_cuda(cudaEventSynchronize(get()), "cudaEventSynchronize"); }
  /// Whether what was recorded is done; true also where nothing was.
  bool ready() const {
    const cudaError_t code = cudaEventQuery(get());
    if (code == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());  // not an error, but remembered as one
      return false;
    }
    check_cuda(code, "cudaEventQuery");
    return true;
  }
  /// Seconds from `start` to this event, both recorded and complete.
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, start.get(), get()), "cudaEventElapsedTime");
    return 1e-3 * milliseconds;
  }

 private:
  struct Destroy {
    void operator()(cudaEvent_t e) const { static_cast<void>(cudaEventDestroy(e)); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy> handle_;
};

class Stream {
 public:
  enum class Priority { low, high };
  explicit Stream(Priority priority = Priority::low) {
    int least = 0, greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    cudaStream_t s = nullptr;
    check_cuda(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, priority == Priority::low ? least : greatest),
               "cudaStreamCreate");
    handle_.reset(s);
  }
  cudaStream_t get() const { return handle_.get(); }
  void synchronize() const { check_cuda(cudaStreamSynchronize(get()), "cudaStreamSynchronize"); }
  void record(const Event& event) const { check_cuda(cudaEventRecord(event.get(), get()), "cudaEventRecord"); }
  /// What is put into this stream from now on starts after the event.
  void wait(const Event& event) const { check_cuda(cudaStreamWaitEvent(get(), event.get(), 0), "cudaStreamWaitEvent"); }

 private:
  struct Destroy {
    void operator()(cudaStream_t s) const { static_cast<void>(cudaStreamDestroy(s)); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy> handle_;
};

}  // namespace mhd::gpu
