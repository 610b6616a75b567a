#include "gpu/halo.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.hpp"

namespace mhd::gpu {
namespace {

/// Small allocations share a block of the driver, which CUDA IPC would export as a whole: each buffer has its own.
constexpr std::size_t least_bytes = std::size_t{2} << 20;

std::size_t bytes_for(std::int64_t doubles) {
  return std::max(static_cast<std::size_t>(doubles) * sizeof(double), least_bytes);
}

/// Memory for messages, cut into pieces one after another.
struct Arena {
  MessageMemory memory{nullptr, [](double*) {}};
  double* next = nullptr;

  double* take(std::int64_t doubles) {
    next += doubles;
    return next - doubles;
  }
};

/// None for 0 doubles.
Arena on_device(std::int64_t doubles) {
  void* p = nullptr;
  if (doubles > 0) check_cuda(cudaMalloc(&p, bytes_for(doubles)), "cudaMalloc(messages)");
  return {{static_cast<double*>(p), [](double* memory) { FreeDevice()(memory); }}, static_cast<double*>(p)};
}

Arena pinned(std::int64_t doubles) {
  void* p = nullptr;
  if (doubles > 0) check_cuda(cudaMallocHost(&p, bytes_for(doubles)), "cudaMallocHost(messages)");
  return {{static_cast<double*>(p), [](double* memory) { FreePinned()(memory); }}, static_cast<double*>(p)};
}

template <class... Arenas>
std::vector<MessageMemory> memory_of(Arenas&... arenas) {
  std::vector<MessageMemory> memory;
  (memory.push_back(std::move(arenas.memory)), ...);
  return memory;
}

/// An integer that tells from which rank to which a number travels, and its place.
double trial_value(int from, int to, std::int64_t place) {
  const std::uint64_t pair = static_cast<std::uint64_t>(from) * 1000003 + static_cast<std::uint64_t>(to);
  return static_cast<double>((pair * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(place)) & 0xfffffffffffff);
}

}  // namespace

HaloExchange::HaloExchange(const HaloPlan& plan, const Layout& layout, int fields, const Comm& comm,
                           const std::vector<Transport>& transports, Timeline& timeline, std::uint64_t stress_seed)
    : layout_(layout),
      fields_(fields),
      rank_(comm.rank()),
      messages_(plan.messages.size()),
      timeline_(timeline),
      stress_(stress_seed == 0 ? 0 : stress_seed + static_cast<std::uint64_t>(comm.rank()) * 7919) {
  for (std::size_t m = 0; m < messages_.size(); ++m) {
    messages_[m].neighbour = plan.messages[m].neighbour;
    messages_[m].length = plan.messages[m].cells * fields;
    messages_[m].transport = transports[m];
  }
  std::string failure;
  std::vector<Peers::Link> links;
  try {
    links = allocate(comm);
  } catch (const Error& e) {
    failure = e.what();
  }
  // What follows is collective.
  failure = comm.first_failure(failure);
  if (!failure.empty()) throw Error(ExitCode::device, failure, ErrorScope::everywhere);
  if (comm.maximum(std::int64_t{!links.empty()}) > 0) connect(comm, links);
  for (int parity = 0; parity < 2; ++parity) {
    receive_[parity].resize(messages_.size());
    for (const HaloSegment& segment : plan.segments) {
      const Message& message = messages_[segment.message];
      send_[parity].push_back({segment.send_box, message.packed[parity] + segment.send_offset * fields});
      double* arrived = message.landing ? message.landing : message.arrived[parity];
      receive_[parity][segment.message].push_back({segment.recv_box, arrived + segment.recv_offset * fields});
    }
  }
}

std::vector<Peers::Link> HaloExchange::allocate(const Comm& comm) {
  const auto total = [&](auto... transports) {
    std::int64_t doubles = 0;
    for (const Message& m : messages_)
      if (((m.transport == transports) || ...)) doubles += m.length;
    return doubles;
  };
  const std::int64_t staged = total(Transport::host_staged), direct = total(Transport::cuda_aware),
                     written = total(Transport::peer);
  using Travel = HaloMessages::Travel;
  constexpr std::int64_t largest_piece = HostHalo::default_largest_piece;
  const auto in_mpi = [&](const Message& m, double* memory) {
    return MessageBuffer{memory, m.transport == Transport::peer ? 1 : m.length, m.neighbour};
  };
  const std::int64_t signals = written > 0 ? static_cast<std::int64_t>(messages_.size()) : 0;

  landing_ = device_buffer<double>(static_cast<std::size_t>(staged));
  double* landing = landing_.data();
  std::vector<Peers::Link> links;
  for (int parity = 0; parity < 2; ++parity) {
    if (written > 0) {
      written_by_peers_[parity] = device_buffer<double>(bytes_for(written) / sizeof(double));
      check_cuda(cudaMemset(written_by_peers_[parity].data(), 0xff, bytes_for(written)), "cudaMemset(messages)");
    }
    Arena device = on_device(direct), host = pinned(staged), told = pinned(signals);
    double* peer = written_by_peers_[parity].data();
    std::vector<MessageBuffer> buffers;
    for (Message& m : messages_) {
      if (m.transport == Transport::peer) {
        m.arrived[parity] = peer;
        if (parity == 0) links.push_back({m.neighbour, peer - written_by_peers_[0].data()});
        peer += m.length;
        buffers.push_back(in_mpi(m, told.take(1)));
        continue;
      }
      m.arrived[parity] = (m.transport == Transport::cuda_aware ? device : host).take(m.length);
      buffers.push_back(in_mpi(m, m.arrived[parity]));
      if (m.transport == Transport::host_staged && parity == 0) {
        m.landing = landing;
        landing += m.length;
      }
    }
    incoming_[parity].emplace(std::move(buffers), comm, Travel::incoming, largest_piece, memory_of(device, host, told));
  }
  Arena device = on_device(direct + staged), host = pinned(staged), told = pinned(signals);
  std::vector<MessageBuffer> buffers;
  for (Message& m : messages_) {
    if (m.transport == Transport::peer) {
      buffers.push_back(in_mpi(m, told.take(1)));
      continue;
    }
    m.packed[0] = m.packed[1] = device.take(m.length);
    if (m.transport == Transport::host_staged) m.sent = host.take(m.length);
    buffers.push_back(in_mpi(m, m.sent ? m.sent : m.packed[0]));
  }
  outgoing_.emplace(std::move(buffers), comm, Travel::outgoing, largest_piece, memory_of(device, host, told));
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  return links;
}

void HaloExchange::connect(const Comm& comm, const std::vector<Peers::Link>& links) {
  peers_ = std::make_unique<Peers>(
      comm, std::array<double*, 2>{written_by_peers_[0].data(), written_by_peers_[1].data()}, links);
  int link = 0;
  for (Message& m : messages_) {
    if (m.transport != Transport::peer) continue;
    for (int parity = 0; parity < 2; ++parity) m.packed[parity] = peers_->place(link, parity);
    ++link;
  }
}

std::int64_t HaloExchange::bytes_sent() const {
  std::int64_t doubles = 0;
  for (const Message& m : messages_) doubles += m.length;
  return doubles * static_cast<std::int64_t>(sizeof(double));
}

void HaloExchange::begin(const double* first, std::span<const Event> after) {
  {
    const Stage stage(timeline_, "post receives");
    outgoing_->wait_all();  // their buffers are used again
    // The buffers of the exchange before the last one: its unpacking is done, since the packing of the last exchange
    // came after it and has been sent. Likewise the neighbour's buffer that is written next: what was there has been
    // unpacked before it packed the message of the last exchange, which has arrived here.
    parity_ ^= 1;
    incoming_[parity_]->start_all();
  }
  pack_stream_.wait(messages_[last_arrived_].unpacked);
  for (const Event& event : after) pack_stream_.wait(event);
  pack_stream_.record(may_begin_);
  unpack_stream_.wait(may_begin_);
  stress_.delay(pack_stream_.get());
  {
    const Stage stage(timeline_, "pack", -1, &pack_stream_);
    pack(first, layout_, fields_, send_[parity_], pack_stream_.get());
  }
  // What needs no copy is ready first.
  for (const bool staged : {false, true})
    for (Message& m : messages_)
      if ((m.transport == Transport::host_staged) == staged) make_ready(m);
  unsent_ = messages();
}

void HaloExchange::make_ready(Message& m) {
  if (m.sent) {
    const Stage stage(timeline_, "copy to host", m.neighbour, &pack_stream_);
    check_cuda(cudaMemcpyAsync(m.sent, m.packed[parity_], m.length * sizeof(double), cudaMemcpyDeviceToHost,
                               pack_stream_.get()),
               "cudaMemcpyAsync(halo to host)");
  }
  pack_stream_.record(m.ready);
  m.unsent = true;
}

void HaloExchange::start_sends() {
  if (unsent_ == 0) return;
  for (int i = 0; i < messages(); ++i) {
    Message& m = messages_[i];
    if (!m.unsent || !m.ready.ready()) continue;
    stress_.delay_host();
    const Stage stage(timeline_, "send to", m.neighbour);
    outgoing_->start(i);
    m.unsent = false;
    --unsent_;
  }
}

int HaloExchange::next(double* first) {
  for (;;) {
    start_sends();
    if (const std::optional<int> arrived = incoming_[parity_]->test_any()) {
      Message& m = messages_[*arrived];
      stress_.delay(unpack_stream_.get());
      if (m.landing) {
        const Stage stage(timeline_, "copy to device", m.neighbour, &unpack_stream_);
        check_cuda(cudaMemcpyAsync(m.landing, m.arrived[parity_], m.length * sizeof(double), cudaMemcpyHostToDevice,
                                   unpack_stream_.get()),
                   "cudaMemcpyAsync(halo to device)");
      }
      const Stage stage(timeline_, "unpack from", m.neighbour, &unpack_stream_);
      unpack(first, layout_, fields_, receive_[parity_][*arrived], unpack_stream_.get());
      unpack_stream_.record(m.unpacked);
      return last_arrived_ = *arrived;
    }
    if (unsent_ == 0 && !incoming_[parity_]->under_way()) return -1;
    std::this_thread::yield();
  }
}

std::string HaloExchange::trial() {
  std::vector<double> values;
  const auto copy = [](double* to, const double* from, std::int64_t doubles) {
    check_cuda(cudaMemcpy(to, from, static_cast<std::size_t>(doubles) * sizeof(double), cudaMemcpyDefault),
               "cudaMemcpy(trial)");
  };
  for (const Message& m : messages_) {
    if (m.transport != Transport::peer) {  // that of peer was filled before neighbours knew of it
      values.assign(static_cast<std::size_t>(m.length), -1.0);
      copy(m.arrived[parity_], values.data(), m.length);
    }
    values.resize(static_cast<std::size_t>(m.length));
    for (std::int64_t i = 0; i < m.length; ++i) values[i] = trial_value(rank_, m.neighbour, i);
    copy(m.packed[parity_], values.data(), m.length);
  }
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize(trial)");

  incoming_[parity_]->start_all();
  for (int i = 0; i < messages(); ++i) {
    make_ready(messages_[i]);
    pack_stream_.synchronize();
    messages_[i].unsent = false;
    outgoing_->start(i);
  }
  constexpr std::chrono::seconds patience{60};
  const auto start = std::chrono::steady_clock::now();
  const auto too_long = [&] { return std::chrono::steady_clock::now() - start > patience; };
  while (incoming_[parity_]->under_way() || outgoing_->under_way()) {
    incoming_[parity_]->test_any();
    outgoing_->test_any();
    if (too_long()) throw Error(ExitCode::device, "a message did not arrive within a minute");
    std::this_thread::yield();
  }
  for (const Message& m : messages_) {
    values.resize(static_cast<std::size_t>(m.length));
    copy(values.data(), m.arrived[parity_], m.length);
    for (std::int64_t i = 0; i < m.length; ++i)
      if (values[i] != trial_value(m.neighbour, rank_, i))
        return "number " + std::to_string(i) + " of the message from rank " + std::to_string(m.neighbour) +
               " was wrong";
  }
  return "";
}

}  // namespace mhd::gpu
