#include "gpu/peers.hpp"

#include <cuda_runtime.h>

#include <chrono>
#include <thread>

#include "core/error.hpp"
#include "core/mpi_check.hpp"
#include "gpu/cuda_check.hpp"

namespace mhd::gpu {
namespace {

constexpr int peer_tag = 72;

/// What a rank tells a neighbour.
struct Offer {
  cudaIpcMemHandle_t buffer[2];
  std::int64_t offset;  ///< of the neighbour's message, doubles
};

}  // namespace

void Peers::Close::operator()(void* p) const { static_cast<void>(cudaIpcCloseMemHandle(p)); }

Peers::Peers(const Comm& comm) { check_mpi(MPI_Comm_dup(comm.handle(), &comm_), "MPI_Comm_dup"); }

Peers::Peers(const Comm& comm, const std::array<double*, 2>& incoming, const std::vector<Link>& links) : Peers(comm) {
  const std::size_t count = links.size();
  places_.resize(count);
  Offer own{};
  if (count > 0)
    for (int b = 0; b < 2; ++b) check_cuda(cudaIpcGetMemHandle(&own.buffer[b], incoming[b]), "cudaIpcGetMemHandle");
  std::vector<Offer> made(count, own), received(count);
  std::vector<MPI_Request> requests(2 * count);
  for (std::size_t l = 0; l < count; ++l) {
    made[l].offset = links[l].offset;
    const int neighbour = links[l].neighbour;
    check_mpi(MPI_Irecv(&received[l], sizeof(Offer), MPI_BYTE, neighbour, peer_tag, comm.handle(), &requests[2 * l]),
              "MPI_Irecv");
    check_mpi(MPI_Isend(&made[l], sizeof(Offer), MPI_BYTE, neighbour, peer_tag, comm.handle(), &requests[2 * l + 1]),
              "MPI_Isend");
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  for (std::size_t l = 0; l < count; ++l)
    for (int b = 0; b < 2; ++b) {
      void* p = incoming[b];
      if (links[l].neighbour != comm.rank()) {  // a process cannot open what it has itself allocated
        check_cuda(cudaIpcOpenMemHandle(&p, received[l].buffer[b], cudaIpcMemLazyEnablePeerAccess),
                   "cudaIpcOpenMemHandle");
        opened_.emplace_back(p);
      }
      places_[l][b] = static_cast<double*>(p) + received[l].offset;
    }
}

Peers::~Peers() {
  opened_.clear();
  int finalized = 0, done = 0;
  if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized) return;
  MPI_Request barrier = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(comm_, &barrier) != MPI_SUCCESS) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (MPI_Test(&barrier, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  if (done) MPI_Comm_free(&comm_);
}

}  // namespace mhd::gpu
