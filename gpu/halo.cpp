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
  if (transport == Transport::peer) {
    HaloPlan signals = plan;
    for (HaloMessage& message : signals.messages) message.cells = 1;
    return {signals, 1, comm, travel, 1};
  }
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
      transport_(transport),
      lengths_(message_lengths(plan, fields)),
      offsets_(starts(lengths_)),
      total_(static_cast<std::int64_t>(total_cells(plan)) * fields),
      receive_(plan.messages.size()),
      device_send_(device_buffer<double>(transport != Transport::cuda_aware ? static_cast<std::size_t>(total_) : 0)),
      device_receive_(
          device_buffer<double>(transport == Transport::host_staged ? static_cast<std::size_t>(total_) : 0)),
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
  if (transport != Transport::peer) return;
  const std::size_t bytes = std::max(static_cast<std::size_t>(total_) * sizeof(double), least_bytes);
  for (DeviceBuffer<double>& buffer : written_by_peers_) {
    buffer = device_buffer<double>(bytes / sizeof(double));
    check_cuda(cudaMemset(buffer.data(), 0xff, bytes), "cudaMemset(messages)");
  }
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  peers_ = std::make_unique<Peers>(
      plan, comm, std::array<double*, 2>{written_by_peers_[0].data(), written_by_peers_[1].data()}, offsets_);
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
  pack(first, layout_, fields_, send_, packing(), pack_stream_.get());
  for (int m = 0; m < messages(); ++m) {
    copy_out(m, pack_stream_.get());
    pack_stream_.record(packed_[m]);
  }
  sends_started_ = 0;
}

void HaloExchange::copy_out(int m, cudaStream_t stream) {
  if (transport_ == Transport::cuda_aware) return;
  // A neighbour's buffer may be written: it has unpacked what was there before it packed the message of the last
  // exchange, which has arrived here.
  double* to = transport_ == Transport::peer ? peers_->place(m, parity_) : outgoing_.buffer(m);
  check_cuda(cudaMemcpyAsync(to, packing() + offsets_[m], lengths_[m] * sizeof(double), cudaMemcpyDefault, stream),
             "cudaMemcpyAsync(halo)");
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
      const double* buffer = arrival();
      if (transport_ == Transport::host_staged) {
        check_cuda(cudaMemcpyAsync(device_receive_.data() + offsets_[m], buffer + offsets_[m],
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
  check_cuda(cudaMemcpy(packing(), values.data(), bytes, cudaMemcpyDefault), "cudaMemcpy(trial)");
  if (transport_ != Transport::peer) {  // that of peer was filled before neighbours knew of it
    std::ranges::fill(values, -1.0);
    check_cuda(cudaMemcpy(arrival(), values.data(), bytes, cudaMemcpyDefault), "cudaMemcpy(trial)");
  }
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize(trial)");

  incoming().start_all();
  for (int m = 0; m < messages(); ++m) {
    copy_out(m, pack_stream_.get());
    pack_stream_.synchronize();
    outgoing_.start(m);
  }
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
  check_cuda(cudaMemcpy(values.data(), arrival(), bytes, cudaMemcpyDefault), "cudaMemcpy(trial)");
  for (int m = 0; m < messages(); ++m)
    for (std::int64_t i = 0; i < lengths_[m]; ++i)
      if (values[offsets_[m] + i] != trial_value(neighbours_[m], rank_, i))
        return "number " + std::to_string(i) + " of the message from rank " + std::to_string(neighbours_[m]) +
               " was wrong";
  return "";
}

}  // namespace mhd::gpu
