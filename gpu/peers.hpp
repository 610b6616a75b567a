#pragma once
// The incoming buffers of neighbour ranks on the same host, opened through CUDA IPC, so that messages are copied from
// device to device without MPI. These buffers are never given to MPI: it would open them a second time.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/comm.hpp"
#include "core/regions.hpp"

namespace mhd::gpu {

class Peers {
 public:
  /// Collective. `incoming`: this rank's two buffers, each of one cudaMalloc; `offsets` of its messages in them,
  /// doubles. Throws Error(device) where a buffer cannot be opened.
  Peers(const HaloPlan& plan, const Comm& comm, const std::array<double*, 2>& incoming,
        const std::vector<std::int64_t>& offsets);
  /// Closes them and waits until the other ranks have, since only then may buffers be freed; but no longer than a
  /// second, for a rank that fails may be gone.
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Where the neighbour of a message expects it in one of its buffers.
  double* place(int message, int buffer) const { return places_[message][buffer]; }

 private:
  struct Close {
    void operator()(void* p) const;
  };
  using Opened = std::unique_ptr<void, Close>;
  /// Delegated to, so that the destructor runs if the other constructor throws.
  explicit Peers(const Comm& comm);

  MPI_Comm comm_ = MPI_COMM_NULL;  ///< of its own, for the end
  std::vector<Opened> opened_;
  struct Places {
    double* of[2] = {};
    double* operator[](int buffer) const { return of[buffer]; }
  };
  std::vector<Places> places_;  ///< by message
};

/// Whether all ranks run on one host; collective.
bool on_one_host(const Comm& comm);

}  // namespace mhd::gpu
