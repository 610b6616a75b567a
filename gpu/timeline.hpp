#pragma once
// The stages of the pipeline by name: as NVTX ranges, which profilers show, and as times of its own record.

#include <cuda_runtime.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/timeline.hpp"
#include "gpu/stream.hpp"

namespace mhd::gpu {

/// Records when stages began and ended, on the device by events. Memory of events is kept and used again.
class Timeline {
 public:
  /// Waits for the device, forgets what was recorded, and starts to record from now.
  void start();
  bool recording() const { return recording_; }
  /// Waits for the device and ends the recording. In the order of their beginning.
  std::vector<TimelineEntry> stop();

 private:
  friend class Stage;
  using Clock = std::chrono::steady_clock;
  struct Record {
    std::string name;
    bool on_device = false;
    std::size_t event = 0;  ///< of the beginning; the next one is of the end
    Clock::time_point began, ended;
  };
  std::size_t new_events();

  bool recording_ = false;
  Event zero_{true};
  Clock::time_point zero_host_;
  std::vector<Event> events_;
  std::size_t events_used_ = 0;
  std::vector<Record> records_;
};

/// From its construction to its destruction: a stage that the host carries out, or queues into a stream.
class Stage {
 public:
  /// `number` names the neighbour or segment; -1: none. `stream` null: a stage of the host.
  Stage(Timeline& timeline, const char* name, int number = -1, const Stream* stream = nullptr);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  Timeline& timeline_;
  const Stream* stream_;
  std::size_t record_ = 0;
  bool recorded_ = false;
};

}  // namespace mhd::gpu
