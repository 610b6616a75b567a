#include "core/nodes.hpp"

#include <algorithm>
#include <utility>

#include "core/mpi_check.hpp"

namespace mhd {

Nodes::Nodes(const Comm& comm) : node_of_(comm.size(), 0), count_(1) {
  if (comm.size() == 1) return;
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, comm.rank(), MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  int lowest = comm.rank();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  std::vector<int> lowest_of(node_of_.size());
  check_mpi(MPI_Allgather(&lowest, 1, MPI_INT, lowest_of.data(), 1, MPI_INT, comm.handle()), "MPI_Allgather");
  count_ = 0;
  for (int rank = 0; rank < comm.size(); ++rank)
    node_of_[rank] = lowest_of[rank] == rank ? count_++ : node_of_[lowest_of[rank]];
}

Nodes::Nodes(std::vector<int> node_of)
    : node_of_(std::move(node_of)), count_(*std::max_element(node_of_.begin(), node_of_.end()) + 1) {}

int Nodes::local_rank(int rank) const {
  return static_cast<int>(std::count(node_of_.begin(), node_of_.begin() + rank, node_of_[rank]));
}

bool Nodes::contiguous() const { return std::is_sorted(node_of_.begin(), node_of_.end()); }

}  // namespace mhd
