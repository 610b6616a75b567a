#pragma once
// Halo exchange of fields in host memory, by persistent non-blocking MPI messages.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/comm.hpp"
#include "core/regions.hpp"
#include "core/solver.hpp"
#include "core/state.hpp"

namespace mhd {

/// Memory of messages, with the function that frees it: on the host, pinned, or on a device.
using MessageMemory = std::unique_ptr<double[], void (*)(double*)>;

/// Where a message lies, and the rank that it goes to or comes from.
struct MessageBuffer {
  double* first = nullptr;
  std::int64_t length = 0;  ///< doubles
  int neighbour = 0;
};

/// The outgoing or the incoming messages of one rank: their buffers and MPI requests, allocated once. Move-only.
/// Messages longer than `largest_piece` doubles travel in pieces, since MPI counts (and some MPI libraries' byte
/// counts) are 32-bit integers.
class HaloMessages {
 public:
  enum class Travel { outgoing, incoming };

  /// In host memory.
  static HaloMessages on_host(const HaloPlan& plan, int fields, const Comm& comm, Travel travel,
                              std::int64_t largest_piece);
  /// In memory that was allocated by the caller and is freed by this.
  HaloMessages(std::vector<MessageBuffer> messages, const Comm& comm, Travel travel, std::int64_t largest_piece,
               std::vector<MessageMemory> memory);
  /// Should messages still be under way, because an exception ended the exchange, receives are cancelled; where that is
  /// not possible the memory stays allocated, since MPI may use it until the job ends.
  ~HaloMessages();
  HaloMessages(HaloMessages&&) = default;
  HaloMessages(const HaloMessages&) = delete;
  HaloMessages& operator=(const HaloMessages&) = delete;
  HaloMessages& operator=(HaloMessages&&) = delete;

  double* buffer(int message) { return messages_[message].first; }
  void start(int message);
  void start_all();
  /// Waits until another message is complete and returns its index; -1 when none is under way.
  int wait_any();
  /// The index of another message that is complete; nothing where none is at present. Lets MPI make progress.
  std::optional<int> test_any();
  /// Whether messages have been started that neither wait_any nor test_any has reported.
  bool under_way() const;
  void wait_all();

 private:
  /// Delegated to, so that the destructor frees what there is if the other constructor throws.
  HaloMessages() = default;
  /// Counts a piece as complete; the message's index if that was its last.
  std::optional<int> completed(int piece);
  /// Whether a request is complete, cancelled or was never started: its buffer is no longer used.
  bool complete(MPI_Request& request) const;

  Travel travel_ = Travel::outgoing;
  std::vector<MessageMemory> memory_;
  std::vector<MessageBuffer> messages_;
  std::vector<int> first_piece_;  ///< by message, and the number of pieces at the end
  std::vector<int> message_of_piece_;
  std::vector<int> pieces_under_way_;  ///< by message, of those that wait_any or test_any has yet to report
  std::vector<MPI_Request> requests_;  ///< by piece
};

class HostHalo {
 public:
  static constexpr std::int64_t default_largest_piece = std::int64_t{1} << 27;  ///< doubles: 1 GiB

  /// `largest_piece` must be the same on all ranks.
  HostHalo(const HaloPlan& plan, const HostLayout& layout, int fields, const Comm& comm,
           std::int64_t largest_piece = default_largest_piece);

  /// Fills the halos of all fields; collective over the neighbours. Corners between split axes are filled only where
  /// the plan has them. Throws Error(internal) where the state has another layout or an MPI call fails.
  void exchange(HostState& state);

  /// Seconds since the last reset: `exchange` (posting, packing, unpacking, local wrap) and `wait`; not `compute`.
  const StepTiming& timing() const { return timing_; }
  void reset_timing() { timing_ = {}; }

 private:
  void pack(const HostState& state, int message);
  void unpack(HostState& state, int message);
  void wrap(HostState& state) const;

  HaloPlan plan_;
  int fields_;
  HaloMessages outgoing_, incoming_;
  StepTiming timing_;
};

}  // namespace mhd
