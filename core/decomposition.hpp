#pragma once
// Grid + ranks -> one box of cells per rank. Any grid over any number of ranks; sizes along an axis differ by at most
// one. The number of subdomains per axis minimises the halo cells that the busiest rank receives from other ranks;
// ranks are numbered along a Morton curve so that neighbours in space are near in rank (Pekkila et al. 2022, section
// 3).

#include <array>
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

  /// The same subdomains, but halos along these axes, as far as they are active, travel by message also where one rank
  /// holds the axis alone: from the rank to itself. For tests and measurements on few ranks. Throws Error(launch) where
  /// an axis is too short.
  Decomposition exchanging(const std::array<bool, 3>& axes) const;

  const Grid& grid() const { return grid_; }
  int ranks() const { return static_cast<int>(coordinates_.size()); }
  Int3 subdomains() const { return subdomains_; }  ///< per axis
  /// Whether halos along the axis travel by message.
  bool split(int axis) const { return split_[axis]; }
  bool exchanges() const { return split(0) || split(1) || split(2); }
  Int3 coordinates(int rank) const { return coordinates_[rank]; }
  int rank_at(Int3 coordinates) const;            ///< periodic in each axis
  Box box(int rank) const;                        ///< global cells of a rank
  int neighbour(int rank, Int3 direction) const;  ///< direction components in -1, 0, 1
  /// Cells that a rank receives by message before each substep (faces and edges, corners too if asked for).
  std::int64_t halo_cells(int rank, bool corners = false) const;

 private:
  Grid grid_;
  Int3 subdomains_;
  std::array<bool, 3> split_{};
  std::vector<Int3> coordinates_;  ///< by rank
  std::vector<int> rank_of_;       ///< by x + sx (y + sy z)
};

/// Directions (components -1, 0, 1) in which a subdomain receives halo cells by message: the components that are not
/// zero lie along split axes; faces and edges, corners only if asked for. In ascending order of x + 3 y + 9 z.
std::vector<Int3> message_directions(const std::array<bool, 3>& split, bool corners);

/// Rank counts up to `limit` for which a decomposition of this grid exists.
std::vector<int> feasible_rank_counts(const Grid& grid, int limit);

}  // namespace mhd
