#include "gpu/halo.hpp"

#include <chrono>

namespace mhd::gpu {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::int64_t total(const std::vector<std::int64_t>& lengths) {
  std::int64_t sum = 0;
  for (std::int64_t length : lengths) sum += length;
  return sum;
}

std::vector<std::int64_t> message_lengths(const HaloPlan& plan, int fields) {
  std::vector<std::int64_t> lengths;
  for (const HaloMessage& message : plan.messages) lengths.push_back(message.cells * fields);
  return lengths;
}

}  // namespace

StagedHalo::StagedHalo(const HaloPlan& plan, const Layout& layout, int fields, const Comm& comm)
    : layout_(layout),
      fields_(fields),
      send_(plan.messages.size()),
      receive_(plan.messages.size()),
      lengths_(message_lengths(plan, fields)),
      device_send_(device_buffer<double>(static_cast<std::size_t>(total(lengths_)))),
      device_receive_(device_buffer<double>(static_cast<std::size_t>(total(lengths_)))),
      outgoing_(plan, fields, comm, HaloMessages::Travel::outgoing, HostHalo::default_largest_piece),
      incoming_(plan, fields, comm, HaloMessages::Travel::incoming, HostHalo::default_largest_piece) {
  std::int64_t offset = 0;
  for (std::int64_t length : lengths_) {
    offsets_.push_back(offset);
    offset += length;
    copied_.emplace_back();
  }
  for (const HaloSegment& segment : plan.segments) {
    send_[segment.message].push_back({segment.send_box, segment.send_offset * fields});
    receive_[segment.message].push_back({segment.recv_box, segment.recv_offset * fields});
  }
}

void StagedHalo::exchange(double* first, const Stream& stream) {
  const auto start = Clock::now();
  double waited = 0;
  incoming_.start_all();
  const int messages = static_cast<int>(lengths_.size());
  for (int m = 0; m < messages; ++m) {
    double* buffer = device_send_.data() + offsets_[m];
    pack(first, layout_, fields_, send_[m], buffer, stream.get());
    check_cuda(cudaMemcpyAsync(outgoing_.buffer(m), buffer, lengths_[m] * sizeof(double), cudaMemcpyDeviceToHost,
                               stream.get()),
               "cudaMemcpyAsync(halo to host)");
    stream.record(copied_[m]);
  }
  for (int m = 0; m < messages; ++m) {
    copied_[m].synchronize();
    outgoing_.start(m);
  }
  const auto next_arrival = [&] {
    const auto before = Clock::now();
    const int m = incoming_.wait_any();
    waited += seconds_since(before);
    return m;
  };
  for (int m = next_arrival(); m >= 0; m = next_arrival()) {
    double* buffer = device_receive_.data() + offsets_[m];
    check_cuda(cudaMemcpyAsync(buffer, incoming_.buffer(m), lengths_[m] * sizeof(double), cudaMemcpyHostToDevice,
                               stream.get()),
               "cudaMemcpyAsync(halo to device)");
    unpack(first, layout_, fields_, receive_[m], buffer, stream.get());
  }
  fill_images(first, layout_, fields_, stream.get());
  outgoing_.wait_all();
  // The next exchange overwrites the incoming buffers.
  stream.synchronize();
  timing_.wait += waited;
  timing_.exchange += seconds_since(start) - waited;
}

}  // namespace mhd::gpu
