#include "gpu/halo.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.hpp"

namespace mhd::gpu {
namespace {

std::vector<std::int64_t> message_lengths(const HaloPlan& plan, int fields) {
  std::vector<std::int64_t> lengths;
  for (const HaloMessage& message : plan.messages) lengths.push_back(message.cells * fields);
  return lengths;
}

std::vector<std::int64_t> starts(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> offsets;
  std::int64_t offset = 0;
  for (std::int64_t length : lengths) {
    offsets.push_back(offset);
    offset += length;
  }
  return offsets;
}

std::size_t total_cells(const HaloPlan& plan) {
  std::size_t cells = 0;
  for (const HaloMessage& message : plan.messages) cells += static_cast<std::size_t>(message.cells);
  return cells;
}

/// Small allocations share a block of the driver, which CUDA IPC would export as a whole: each buffer has its own.
constexpr std::size_t least_bytes = std::size_t{2} << 20;

MessageMemory message_memory(std::size_t doubles, Transport transport) {
  void* p = nullptr;
  const std::size_t bytes = std::max(doubles * sizeof(double), least_bytes);
  if (transport == Transport::cuda_aware) {
    check_cuda(cudaMalloc(&p, bytes), "cudaMalloc(messages)");
    return {static_cast<double*>(p), [](double* memory) { FreeDevice()(memory); }};
  }
  check_cuda(cudaMallocHost(&p, bytes), "cudaMallocHost(messages)");
  return {static_cast<double*>(p), [](double* memory) { FreePinned()(memory); }};
}

HaloMessages messages_of(const HaloPlan& plan, int fields, const Comm& comm, HaloMessages::Travel travel,
                         Transport transport) {
  return {plan,
          fields,
          comm,
          travel,
          HostHalo::default_largest_piece,
          message_memory(total_cells(plan) * static_cast<std::size_t>(fields), transport)};
}

/// An integer that tells from which rank to which a number travels, and its place.
double trial_value(int from, int to, std::int64_t place) {
  const std::uint64_t pair = static_cast<std::uint64_t>(from) * 1000003 + static_cast<std::uint64_t>(to);
  return static_cast<double>((pair * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(place)) & 0xfffffffffffff);
}

}  // namespace

HaloExchange::HaloExchange(const HaloPlan& plan, const Layout& layout, int fields, const Comm& comm,
                           Transport transport, std::uint64_t stress_seed)
    : layout_(layout),
      fields_(fields),
      rank_(comm.rank()),
      staged_(transport == Transport::host_staged),
      lengths_(message_lengths(plan, fields)),
      offsets_(starts(lengths_)),
      total_(static_cast<std::int64_t>(total_cells(plan)) * fields),
      receive_(plan.messages.size()),
      device_send_(device_buffer<double>(staged_ ? static_cast<std::size_t>(total_) : 0)),
      device_receive_(device_buffer<double>(staged_ ? static_cast<std::size_t>(total_) : 0)),
      outgoing_(messages_of(plan, fields, comm, HaloMessages::Travel::outgoing, transport)),
      incoming_{messages_of(plan, fields, comm, HaloMessages::Travel::incoming, transport),
                messages_of(plan, fields, comm, HaloMessages::Travel::incoming, transport)},
      packed_(plan.messages.size()),
      unpacked_(plan.messages.size()),
      sends_started_(static_cast<int>(plan.messages.size())),
      stress_(stress_seed == 0 ? 0 : stress_seed + static_cast<std::uint64_t>(comm.rank()) * 7919) {
  for (const HaloMessage& message : plan.messages) neighbours_.push_back(message.neighbour);
  for (const HaloSegment& segment : plan.segments) {
    const std::int64_t start = offsets_[segment.message];
    send_.push_back({segment.send_box, start + segment.send_offset * fields});
    receive_[segment.message].push_back({segment.recv_box, start + segment.recv_offset * fields});
  }
}

void HaloExchange::begin(const double* first, std::span<const Event> after) {
  outgoing_.wait_all();  // their buffer is used again
  // The buffers of the exchange before the last one: its unpacking is done, since the packing of the last exchange came
  // after it and has been sent.
  parity_ ^= 1;
  incoming().start_all();
  for (const Event& unpacked : unpacked_) pack_stream_.wait(unpacked);
  for (const Event& event : after) {
    pack_stream_.wait(event);
    unpack_stream_.wait(event);
  }
  stress_.delay(pack_stream_.get());
  double* buffer = staged_ ? device_send_.data() : outgoing_.buffer(0);
  pack(first, layout_, fields_, send_, buffer, pack_stream_.get());
  for (int m = 0; m < messages(); ++m) {
    if (staged_)
      check_cuda(cudaMemcpyAsync(outgoing_.buffer(m), buffer + offsets_[m], lengths_[m] * sizeof(double),
                                 cudaMemcpyDeviceToHost, pack_stream_.get()),
                 "cudaMemcpyAsync(halo to host)");
    pack_stream_.record(packed_[m]);
  }
  sends_started_ = 0;
}

void HaloExchange::start_sends() {
  for (; sends_started_ < messages() && packed_[sends_started_].ready(); ++sends_started_) {
    stress_.delay_host();
    outgoing_.start(sends_started_);
  }
}

int HaloExchange::next(double* first) {
  for (;;) {
    start_sends();
    if (const std::optional<int> arrived = incoming().test_any()) {
      const int m = *arrived;
      stress_.delay(unpack_stream_.get());
      const double* buffer = incoming().buffer(0);
      if (staged_) {
        check_cuda(cudaMemcpyAsync(device_receive_.data() + offsets_[m], incoming().buffer(m),
                                   lengths_[m] * sizeof(double), cudaMemcpyHostToDevice, unpack_stream_.get()),
                   "cudaMemcpyAsync(halo to device)");
        buffer = device_receive_.data();
      }
      unpack(first, layout_, fields_, receive_[m], buffer, unpack_stream_.get());
      unpack_stream_.record(unpacked_[m]);
      return m;
    }
    if (sends_started_ == messages() && !incoming().under_way()) return -1;
    std::this_thread::yield();
  }
}

std::string HaloExchange::trial() {
  std::vector<double> values(static_cast<std::size_t>(total_));
  for (int m = 0; m < messages(); ++m)
    for (std::int64_t i = 0; i < lengths_[m]; ++i) values[offsets_[m] + i] = trial_value(rank_, neighbours_[m], i);
  const std::size_t bytes = values.size() * sizeof(double);
  check_cuda(cudaMemcpy(outgoing_.buffer(0), values.data(), bytes, cudaMemcpyDefault), "cudaMemcpy(trial)");
  std::ranges::fill(values, -1.0);
  check_cuda(cudaMemcpy(incoming().buffer(0), values.data(), bytes, cudaMemcpyDefault), "cudaMemcpy(trial)");
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize(trial)");

  incoming().start_all();
  for (int m = 0; m < messages(); ++m) outgoing_.start(m);
  constexpr std::chrono::seconds patience{60};
  const auto start = std::chrono::steady_clock::now();
  const auto too_long = [&] { return std::chrono::steady_clock::now() - start > patience; };
  while (incoming().under_way() || outgoing_.under_way()) {
    incoming().test_any();
    outgoing_.test_any();
    if (too_long()) throw Error(ExitCode::device, "a message did not arrive within a minute");
    std::this_thread::yield();
  }
  std::ranges::fill(values, 0.0);
  check_cuda(cudaMemcpy(values.data(), incoming().buffer(0), bytes, cudaMemcpyDefault), "cudaMemcpy(trial)");
  for (int m = 0; m < messages(); ++m)
    for (std::int64_t i = 0; i < lengths_[m]; ++i)
      if (values[offsets_[m] + i] != trial_value(neighbours_[m], rank_, i))
        return "number " + std::to_string(i) + " of the message from rank " + std::to_string(neighbours_[m]) +
               " was wrong";
  return "";
}

}  // namespace mhd::gpu
