#pragma once
// Which ranks run on the same node, as MPI knows it.

#include <vector>

#include "core/comm.hpp"

namespace mhd {

class Nodes {
 public:
  /// Collective.
  explicit Nodes(const Comm& comm);
  /// By rank, nodes numbered by their lowest ranks: what tests pretend.
  explicit Nodes(std::vector<int> node_of);

  int count() const { return count_; }
  /// Nodes are numbered by their lowest ranks.
  int node(int rank) const { return node_of_[rank]; }
  bool same(int a, int b) const { return node(a) == node(b); }
  /// How many lower ranks are on the same node.
  int local_rank(int rank) const;
  /// Whether each node holds successive ranks. Neighbours in space have near ranks, so that otherwise more halos than
  /// necessary travel between nodes.
  bool contiguous() const;

 private:
  std::vector<int> node_of_;
  int count_ = 0;
};

}  // namespace mhd
