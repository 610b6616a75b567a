#pragma once
// Halos of device fields: periodic images within a subdomain, and the exchange with other ranks.

#include <cstdint>
#include <memory>
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

namespace mhd::gpu {

/// Copies cells into the halo of the x and y axes that this rank holds alone (all fields; `first` is cell (0, 0, 0) of
/// slot 0). Halos of the other axes must be filled before, or be overwritten afterwards by `unpack`.
void fill_images(double* first, const Layout& layout, int fields, cudaStream_t stream);

/// A box of cells of all fields, and where its values lie in a buffer: [slot][z][y][x] from `offset` on.
struct PackedBox {
  Box box;
  std::int64_t offset = 0;  ///< doubles
};
/// Copies boxes into (or out of) a buffer in device memory; `boxes`, up to 26, is host memory, read before the call
/// returns. `unpack` also stores the periodic images of these cells along the x and y axes that this rank holds alone.
void pack(const double* first, const Layout& layout, int fields, const std::vector<PackedBox>& boxes, double* buffer,
          cudaStream_t stream);
void unpack(double* first, const Layout& layout, int fields, const std::vector<PackedBox>& boxes, const double* buffer,
            cudaStream_t stream);

/// Which memory MPI is given.
enum class Transport {
  cuda_aware,   ///< that of the device
  host_staged,  ///< pinned host memory, to and from which messages are copied
  peer,         ///< none: messages are copied into the neighbour's device memory, and MPI tells it so; on one host
};

/// Halos of a state from other ranks, one message per neighbour rank. Packing, messages and unpacking run beside
/// whatever other streams do. Two sets of incoming buffers: a neighbour that is one exchange ahead need not wait.
class HaloExchange {
 public:
  /// Collective for peer. Throws Error(device) where memory cannot be had or a neighbour's not be opened.
  HaloExchange(const HaloPlan& plan, const Layout& layout, int fields, const Comm& comm, Transport transport,
               std::uint64_t stress_seed = 0);

  /// Posts the receives and queues the packing of the state whose cell (0, 0, 0) of slot 0 is `first`. Packing and
  /// unpacking start after the events.
  void begin(const double* first, std::span<const Event> after);
  /// Starts sends as they are packed, until another message has arrived; queues its unpacking into the state and
  /// returns its index. -1 when all have arrived and all sends are under way: then the exchange is queued as a whole.
  int next(double* first);
  /// Of the last exchange.
  const Event& unpacked(int message) const { return unpacked_[message]; }
  /// Records an event after all unpacking queued so far.
  void mark(const Event& event) const { unpack_stream_.record(event); }

  /// Sends numbers that depend on sender, receiver and place to all neighbours, from and to the memory that messages
  /// use. Empty where all that arrived was right; otherwise what was wrong. To be called by all ranks.
  std::string trial();

  int messages() const { return static_cast<int>(lengths_.size()); }
  std::int64_t bytes_sent() const { return total_ * static_cast<std::int64_t>(sizeof(double)); }

 private:
  void start_sends();
  /// Queues the copy of a packed message to where `transport_` wants it.
  void copy_out(int message, cudaStream_t stream);
  /// Where all messages are packed; where they arrive.
  double* packing() { return transport_ == Transport::cuda_aware ? outgoing_.buffer(0) : device_send_.data(); }
  double* arrival() { return transport_ == Transport::peer ? written_by_peers_[parity_].data() : incoming().buffer(0); }
  HaloMessages& incoming() { return incoming_[parity_]; }

  Layout layout_;
  int fields_, rank_;
  Transport transport_;
  std::vector<int> neighbours_;                  ///< by message
  std::vector<std::int64_t> lengths_, offsets_;  ///< by message, doubles
  std::int64_t total_ = 0;
  std::vector<PackedBox> send_;                        ///< of all messages
  std::vector<std::vector<PackedBox>> receive_;        ///< by message, offsets within the buffer of all
  DeviceBuffer<double> device_send_, device_receive_;  ///< of host_staged; the former also of peer
  DeviceBuffer<double> written_by_peers_[2];           ///< of peer
  std::unique_ptr<Peers> peers_;
  HaloMessages outgoing_, incoming_[2];  ///< for peer they only tell that the values are there
  Stream pack_stream_{Stream::Priority::high}, unpack_stream_{Stream::Priority::high};
  std::vector<Event> packed_, unpacked_;  ///< by message
  int parity_ = 0;
  int sends_started_ = 0;
  Stress stress_;
};

}  // namespace mhd::gpu
