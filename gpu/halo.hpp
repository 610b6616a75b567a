#pragma once
// Halos of device fields: periodic images within a subdomain, and the exchange with other ranks.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/comm.hpp"
#include "core/halo_host.hpp"
#include "core/regions.hpp"
#include "gpu/buffer.hpp"
#include "gpu/layout.hpp"
#include "gpu/peers.hpp"
#include "gpu/stream.hpp"
#include "gpu/stress.hpp"
#include "gpu/timeline.hpp"

namespace mhd::gpu {

/// Copies cells into the halo of the x and y axes that this rank holds alone (all fields; `first` is cell (0, 0, 0) of
/// slot 0). Halos of the other axes must be filled before, or be overwritten afterwards by `unpack`.
void fill_images(double* first, const Layout& layout, int fields, cudaStream_t stream);

/// A box of cells of all fields, and where its values lie, packed: [slot][z][y][x].
struct PackedBox {
  Box box;
  double* place = nullptr;  ///< on this device or on one whose memory it can write
};
/// Copies boxes to (or from) where they lie packed; `boxes`, up to 26, is host memory, read before the call returns.
/// `unpack` also stores the periodic images of these cells along the x and y axes that this rank holds alone.
void pack(const double* first, const Layout& layout, int fields, const std::vector<PackedBox>& boxes,
          cudaStream_t stream);
void unpack(double* first, const Layout& layout, int fields, const std::vector<PackedBox>& boxes, cudaStream_t stream);

/// How a message travels.
enum class Transport {
  cuda_aware,   ///< MPI is given device memory
  host_staged,  ///< MPI is given pinned host memory, to and from which messages are copied
  peer,         ///< packed straight into the neighbour's device memory, and MPI tells it so; on one host
};

/// Halos of a state from other ranks, one message per neighbour rank. Packing, messages and unpacking run beside
/// whatever other streams do. Two sets of incoming buffers: a neighbour that is one exchange ahead need not wait.
class HaloExchange {
 public:
  /// `transports`: by message, the same at both ends. Collective. Throws Error(device) where memory cannot be had or a
  /// neighbour's not be opened. `timeline` must outlive this.
  HaloExchange(const HaloPlan& plan, const Layout& layout, int fields, const Comm& comm,
               const std::vector<Transport>& transports, Timeline& timeline, std::uint64_t stress_seed = 0);

  /// Posts the receives and queues the packing of the state whose cell (0, 0, 0) of slot 0 is `first`. Packing and
  /// unpacking start after the events.
  void begin(const double* first, std::span<const Event> after);
  /// Starts sends as they are packed, until another message has arrived; queues its unpacking into the state and
  /// returns its index. -1 when all have arrived and all sends are under way: then the exchange is queued as a whole.
  int next(double* first);
  /// When all messages that `next` has returned so far are unpacked.
  const Event& unpacked() const { return messages_[last_arrived_].unpacked; }
  /// Records an event after all unpacking queued so far.
  void mark(const Event& event) const { unpack_stream_.record(event); }

  /// Sends numbers that depend on sender, receiver and place to all neighbours, from and to the memory that messages
  /// use. Empty where all that arrived was right; otherwise what was wrong. To be called by all ranks.
  std::string trial();

  int messages() const { return static_cast<int>(messages_.size()); }
  std::int64_t bytes_sent() const;

 private:
  struct Message {
    int neighbour = 0;
    Transport transport = Transport::cuda_aware;
    std::int64_t length = 0;    ///< doubles
    double* packed[2] = {};     ///< by parity; for peer in the neighbour's memory
    double* sent = nullptr;     ///< host_staged: pinned
    double* arrived[2] = {};    ///< by parity
    double* landing = nullptr;  ///< host_staged: on the device
    Event ready, unpacked;
    bool unsent = false;
  };
  /// Returns the links of the messages that travel as peer.
  std::vector<Peers::Link> allocate(const Comm& comm);
  void connect(const Comm& comm, const std::vector<Peers::Link>& links);
  void start_sends();
  /// Queues the copy of a packed message to where MPI sends it from, and records that it is ready.
  void make_ready(Message& message);

  Layout layout_;
  int fields_, rank_;
  std::vector<Message> messages_;
  std::vector<PackedBox> send_[2];                  ///< of all messages, by parity
  std::vector<std::vector<PackedBox>> receive_[2];  ///< by parity, by message
  DeviceBuffer<double> landing_, written_by_peers_[2];
  std::unique_ptr<Peers> peers_;
  std::optional<HaloMessages> outgoing_, incoming_[2];  ///< for peer they only tell that the values are there
  Stream pack_stream_{Stream::Priority::high}, unpack_stream_{Stream::Priority::high};
  int parity_ = 0;
  int unsent_ = 0;
  int last_arrived_ = 0;
  Event may_begin_;
  Timeline& timeline_;
  Stress stress_;
};

}  // namespace mhd::gpu
