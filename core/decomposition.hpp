#pragma once
// Grid + ranks -> one box of cells per rank. Any grid over any number of ranks; sizes along an axis differ by at most
// one. The number of subdomains per axis minimises the halo cells that the busiest rank receives from other ranks;
// ranks are numbered along a Morton curve so that neighbours in space are near in rank (Pekkila et al. 2022, section
// 3).

#include <optional>
#include <vector>

#include "core/box.hpp"
#include "core/grid.hpp"

namespace mhd {

class Decomposition {
 public:
  /// Throws Error(launch) where a split axis would have subdomains thinner than the stencil radius, naming rank counts
  /// that fit; Error(configuration) where `forced` does not multiply to `ranks`.
  Decomposition(const Grid& grid, int ranks, std::optional<Int3> forced = std::nullopt);

  const Grid& grid() const { return grid_; }
  int ranks() const { return static_cast<int>(coordinates_.size()); }
  Int3 subdomains() const { return subdomains_; }  ///< per axis
  bool split(int axis) const { return subdomains_[axis] > 1; }
  Int3 coordinates(int rank) const { return coordinates_[rank]; }
  int rank_at(Int3 coordinates) const;            ///< periodic in each axis
  Box box(int rank) const;                        ///< global cells of a rank
  int neighbour(int rank, Int3 direction) const;  ///< direction components in -1, 0, 1
  /// Cells that a rank receives from other ranks before each substep (faces and edges, corners too if asked for).
  std::int64_t halo_cells(int rank, bool corners = false) const;

 private:
  Grid grid_;
  Int3 subdomains_;
  std::vector<Int3> coordinates_;  ///< by rank
  std::vector<int> rank_of_;       ///< by x + sx (y + sy z)
};

/// Directions (components -1, 0, 1) in which a subdomain receives halo cells by message: the components that are not
/// zero lie along split axes; faces and edges, corners only if asked for. In ascending order of x + 3 y + 9 z.
std::vector<Int3> message_directions(Int3 subdomains, bool corners);

/// Rank counts up to `limit` for which a decomposition of this grid exists.
std::vector<int> feasible_rank_counts(const Grid& grid, int limit);

}  // namespace mhd
