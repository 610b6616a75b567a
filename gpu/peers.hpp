#pragma once
// The incoming buffers of neighbour ranks on the same host, opened through CUDA IPC, so that messages are written from
// device to device without MPI. These buffers are never given to MPI: it would open them a second time.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/comm.hpp"

namespace mhd::gpu {

class Peers {
 public:
  /// A neighbour on this host, which may be this rank, and where its message belongs in the incoming buffers, doubles.
  struct Link {
    int neighbour = 0;
    std::int64_t offset = 0;
  };
  /// Collective over all ranks, also those without links. `incoming`: this rank's two buffers, each of one cudaMalloc.
  /// Throws Error(device) where a buffer cannot be opened.
  Peers(const Comm& comm, const std::array<double*, 2>& incoming, const std::vector<Link>& links);
  /// Closes them and waits until the other ranks have, since only then may buffers be freed; but no longer than a
  /// second, for a rank that fails may be gone.
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  /// Where the neighbour of a link expects this rank's message in one of its buffers.
  double* place(int link, int buffer) const { return places_[link][buffer]; }

 private:
  struct Close {
    void operator()(void* p) const;
  };
  using Opened = std::unique_ptr<void, Close>;
  /// Delegated to, so that the destructor runs if the other constructor throws.
  explicit Peers(const Comm& comm);

  MPI_Comm comm_ = MPI_COMM_NULL;  ///< of its own, for the end
  std::vector<Opened> opened_;
  std::vector<std::array<double*, 2>> places_;  ///< by link
};

}  // namespace mhd::gpu
