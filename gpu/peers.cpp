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

Peers::Peers(const HaloPlan& plan, const Comm& comm, const std::array<double*, 2>& incoming,
             const std::vector<std::int64_t>& offsets)
    : Peers(comm) {
  places_.resize(plan.messages.size());
  Offer own{};
  for (int b = 0; b < 2; ++b) check_cuda(cudaIpcGetMemHandle(&own.buffer[b], incoming[b]), "cudaIpcGetMemHandle");
  std::vector<Offer> made(plan.messages.size(), own), received(plan.messages.size());
  std::vector<MPI_Request> requests(2 * plan.messages.size());
  for (std::size_t m = 0; m < plan.messages.size(); ++m) {
    made[m].offset = offsets[m];
    const int neighbour = plan.messages[m].neighbour;
    check_mpi(MPI_Irecv(&received[m], sizeof(Offer), MPI_BYTE, neighbour, peer_tag, comm.handle(), &requests[2 * m]),
              "MPI_Irecv");
    check_mpi(MPI_Isend(&made[m], sizeof(Offer), MPI_BYTE, neighbour, peer_tag, comm.handle(), &requests[2 * m + 1]),
              "MPI_Isend");
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  for (std::size_t m = 0; m < plan.messages.size(); ++m)
    for (int b = 0; b < 2; ++b) {
      void* p = nullptr;
      check_cuda(cudaIpcOpenMemHandle(&p, received[m].buffer[b], cudaIpcMemLazyEnablePeerAccess),
                 "cudaIpcOpenMemHandle");
      opened_.emplace_back(p);
      places_[m].of[b] = static_cast<double*>(p) + received[m].offset;
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

bool on_one_host(const Comm& comm) {
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, comm.rank(), MPI_INFO_NULL, &host),
            "MPI_Comm_split_type");
  int size = 0;
  check_mpi(MPI_Comm_size(host, &size), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  return comm.minimum(std::int64_t{size}) == comm.size();
}

}  // namespace mhd::gpu
