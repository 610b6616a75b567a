#include "gpu/timeline.hpp"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>

namespace mhd::gpu {

void Timeline::start() {
  records_.clear();
  events_used_ = 0;
  const Stream stream;
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  stream.record(zero_);
  stream.synchronize();
  zero_host_ = Clock::now();
  recording_ = true;
}

std::vector<TimelineEntry> Timeline::stop() {
  recording_ = false;
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::vector<TimelineEntry> entries;
  for (const Record& r : records_) {
    TimelineEntry entry{r.name, r.on_device};
    if (r.on_device) {
      entry.begin = events_[r.event].seconds_since(zero_);
      entry.end = events_[r.event + 1].seconds_since(zero_);
    } else {
      entry.begin = std::chrono::duration<double>(r.began - zero_host_).count();
      entry.end = std::chrono::duration<double>(r.ended - zero_host_).count();
    }
    entries.push_back(entry);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const TimelineEntry& a, const TimelineEntry& b) { return a.begin < b.begin; });
  return entries;
}

std::size_t Timeline::new_events() {
  while (events_.size() < events_used_ + 2) events_.emplace_back(true);
  events_used_ += 2;
  return events_used_ - 2;
}

Stage::Stage(Timeline& timeline, const char* name, int number, const Stream* stream)
    : timeline_(timeline), stream_(stream) {
  nvtxRangePushA(name);
  if (!timeline.recording()) return;
  Timeline::Record record{number < 0 ? name : name + (" " + std::to_string(number)), stream != nullptr, 0, {}, {}};
  if (stream) {
    record.event = timeline.new_events();
    stream->record(timeline.events_[record.event]);
  } else {
    record.began = Timeline::Clock::now();
  }
  record_ = timeline.records_.size();
  recorded_ = true;
  timeline.records_.push_back(std::move(record));
}

Stage::~Stage() {
  nvtxRangePop();
  if (!recorded_) return;
  Timeline::Record& record = timeline_.records_[record_];
  if (stream_)
    static_cast<void>(cudaEventRecord(timeline_.events_[record.event + 1].get(), stream_->get()));
  else
    record.ended = Timeline::Clock::now();
}

}  // namespace mhd::gpu
