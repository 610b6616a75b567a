#include "core/decomposition.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/error.hpp"

namespace mhd {

namespace {

/// Subdomains that an axis can be cut into: floor(N/P) >= radius. Every axis can be left whole, however short.
int most_subdomains(const Grid& grid, int axis) { return std::max(1, grid.cells[axis] / grid.radius()); }

bool fits(const Grid& grid, Int3 subdomains) {
  for (int axis = 0; axis < 3; ++axis)
    if (subdomains[axis] > most_subdomains(grid, axis)) return false;
  return true;
}

/// Size of part `index` of `parts`: the first N mod parts of them have one cell more.
int part_size(int cells, int parts, int index) { return cells / parts + (index < cells % parts ? 1 : 0); }
int part_lower(int cells, int parts, int index) { return cells / parts * index + std::min(index, cells % parts); }

std::array<bool, 3> split_axes(Int3 subdomains) { return {subdomains.x > 1, subdomains.y > 1, subdomains.z > 1}; }

std::int64_t received_cells(Int3 size, const std::array<bool, 3>& split, int radius, bool corners) {
  std::int64_t total = 0;
  for (Int3 direction : message_directions(split, corners)) {
    std::int64_t cells = 1;
    for (int axis = 0; axis < 3; ++axis) cells *= direction[axis] != 0 ? radius : size[axis];
    total += cells;
  }
  return total;
}

std::vector<int> divisors(int number) {
  std::vector<int> low, high;
  for (int d = 1; d <= number / d; ++d) {
    if (number % d != 0) continue;
    low.push_back(d);
    if (d != number / d) high.push_back(number / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

/// All subdomain counts with this product that fit the grid, most subdomains along z first, then along y.
std::vector<Int3> candidates(const Grid& grid, int ranks) {
  std::vector<Int3> found;
  const std::vector<int> all = divisors(ranks);
  for (auto z = all.rbegin(); z != all.rend(); ++z)
    for (auto y = all.rbegin(); y != all.rend(); ++y) {
      if (ranks / *z % *y != 0) continue;
      const Int3 subdomains{ranks / *z / *y, *y, *z};
      if (fits(grid, subdomains)) found.push_back(subdomains);
    }
  return found;
}

std::int64_t most_ranks(const Grid& grid) {
  return std::int64_t{most_subdomains(grid, 0)} * most_subdomains(grid, 1) * most_subdomains(grid, 2);
}

/// "The nearest rank counts that fit are 6 and 8."
std::string proposal(const Grid& grid, int ranks) {
  const std::int64_t most = most_ranks(grid);
  if (ranks >= 1 && !candidates(grid, ranks).empty())
    return std::to_string(ranks) + " ranks fit if the decomposition is left to mhdsim.";
  std::int64_t below = std::min<std::int64_t>(ranks - 1, most);
  while (below >= 1 && candidates(grid, static_cast<int>(below)).empty()) --below;
  std::int64_t above = std::max<std::int64_t>(ranks, 0) + 1;
  while (above <= most && candidates(grid, static_cast<int>(above)).empty()) ++above;
  if (below >= 1 && above <= most)
    return "The nearest rank counts that fit are " + std::to_string(below) + " and " + std::to_string(above) + ".";
  if (below >= 1) return "The largest rank count that fits is " + std::to_string(below) + ".";
  return "The smallest rank count that fits is " + std::to_string(above) + ".";
}

std::string thinness_rule(const Grid& grid) {
  return "at least " + std::to_string(grid.radius()) + " cells along a split axis, the stencil radius of order " +
         std::to_string(grid.order);
}

Int3 least_communication(const Grid& grid, int ranks) {
  const std::vector<Int3> choices = ranks >= 1 ? candidates(grid, ranks) : std::vector<Int3>{};
  if (choices.empty())
    throw Error(ExitCode::launch,
                "grid of " + to_string(grid.cells) + " cells cannot be divided over " + std::to_string(ranks) +
                    " ranks: every subdomain needs " + thinness_rule(grid) + ". " + proposal(grid, ranks),
                ErrorScope::everywhere);
  // The busiest rank is the one with the larger part along every axis; such a rank always exists.
  const auto busiest = [&](Int3 subdomains) {
    Int3 size;
    for (int axis = 0; axis < 3; ++axis) size[axis] = part_size(grid.cells[axis], subdomains[axis], 0);
    return received_cells(size, split_axes(subdomains), grid.radius(), false);
  };
  return *std::min_element(choices.begin(), choices.end(), [&](Int3 a, Int3 b) { return busiest(a) < busiest(b); });
}

Int3 checked(const Grid& grid, int ranks, Int3 forced) {
  const std::string asked = "grid.decomposition = " + to_string(forced);
  if (std::min({forced.x, forced.y, forced.z}) < 1)
    throw Error(ExitCode::configuration, asked + ": every count must be at least 1", ErrorScope::everywhere);
  if (forced.product() != ranks)
    throw Error(ExitCode::configuration,
                asked + " makes " + std::to_string(forced.product()) + " subdomains, but the number of ranks is " +
                    std::to_string(ranks),
                ErrorScope::everywhere);
  for (int axis = 0; axis < 3; ++axis)
    if (forced[axis] > most_subdomains(grid, axis))
      throw Error(ExitCode::launch,
                  asked + " cuts the " + std::to_string(grid.cells[axis]) + " cells along " + axis_name(axis) +
                      " into subdomains of " + std::to_string(grid.cells[axis] / forced[axis]) +
                      "; every subdomain needs " + thinness_rule(grid) + ", so at most " +
                      std::to_string(most_subdomains(grid, axis)) + " fit along " + axis_name(axis) + ". " +
                      proposal(grid, ranks),
                  ErrorScope::everywhere);
  return forced;
}

/// Position along the Morton curve: the bits of the coordinates interleaved, x lowest.
std::uint64_t morton_key(Int3 coordinates) {
  std::uint64_t key = 0;
  for (int bit = 0; bit < 21; ++bit)
    for (int axis = 0; axis < 3; ++axis)
      key |= static_cast<std::uint64_t>(coordinates[axis] >> bit & 1) << (3 * bit + axis);
  return key;
}

}  // namespace

Decomposition::Decomposition(const Grid& grid, int ranks, std::optional<Int3> forced)
    : grid_(grid),
      subdomains_(forced ? checked(grid, ranks, *forced) : least_communication(grid, ranks)),
      split_(split_axes(subdomains_)) {
  coordinates_.reserve(static_cast<std::size_t>(ranks));
  for (int z = 0; z < subdomains_.z; ++z)
    for (int y = 0; y < subdomains_.y; ++y)
      for (int x = 0; x < subdomains_.x; ++x) coordinates_.push_back({x, y, z});
  std::sort(coordinates_.begin(), coordinates_.end(), [](Int3 a, Int3 b) { return morton_key(a) < morton_key(b); });
  rank_of_.resize(coordinates_.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const Int3 c = coordinates_[rank];
    rank_of_[c.x + subdomains_.x * (c.y + subdomains_.y * c.z)] = rank;
  }
}

Decomposition Decomposition::exchanging(const std::array<bool, 3>& axes) const {
  Decomposition all = *this;
  for (int axis = 0; axis < 3; ++axis) {
    if (!axes[axis] || !grid_.active(axis)) continue;
    if (grid_.cells[axis] / subdomains_[axis] < grid_.radius())
      throw Error(ExitCode::launch,
                  "halos along " + std::string(1, axis_name(axis)) + " cannot travel by message: there are " +
                      std::to_string(grid_.cells[axis]) + " cells, but it takes " + thinness_rule(grid_),
                  ErrorScope::everywhere);
    all.split_[axis] = true;
  }
  return all;
}

int Decomposition::rank_at(Int3 coordinates) const {
  Int3 c;
  for (int axis = 0; axis < 3; ++axis) {
    const int parts = subdomains_[axis];
    c[axis] = (coordinates[axis] % parts + parts) % parts;
  }
  return rank_of_[c.x + subdomains_.x * (c.y + subdomains_.y * c.z)];
}

Box Decomposition::box(int rank) const {
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    const int parts = subdomains_[axis], index = coordinates_[rank][axis];
    box.lower[axis] = part_lower(grid_.cells[axis], parts, index);
    box.upper[axis] = box.lower[axis] + part_size(grid_.cells[axis], parts, index);
  }
  return box;
}

int Decomposition::neighbour(int rank, Int3 direction) const { return rank_at(coordinates_[rank] + direction); }

std::int64_t Decomposition::halo_cells(int rank, bool corners) const {
  return received_cells(box(rank).size(), split_, grid_.radius(), corners);
}

std::vector<Int3> message_directions(const std::array<bool, 3>& split_axis, bool corners) {
  std::vector<Int3> directions;
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x) {
        const Int3 direction{x, y, z};
        int components = 0;
        bool split = true;
        for (int axis = 0; axis < 3; ++axis) {
          if (direction[axis] == 0) continue;
          ++components;
          split = split && split_axis[axis];
        }
        if (components > 0 && split && (components < 3 || corners)) directions.push_back(direction);
      }
  return directions;
}

std::vector<int> feasible_rank_counts(const Grid& grid, int limit) {
  std::vector<bool> feasible(static_cast<std::size_t>(std::max(limit, 0)) + 1, false);
  for (int x = 1; x <= std::min(limit, most_subdomains(grid, 0)); ++x)
    for (int y = 1; y <= std::min(limit / x, most_subdomains(grid, 1)); ++y)
      for (int z = 1; z <= std::min(limit / (x * y), most_subdomains(grid, 2)); ++z) feasible[x * y * z] = true;
  std::vector<int> counts;
  for (int ranks = 1; ranks <= limit; ++ranks)
    if (feasible[ranks]) counts.push_back(ranks);
  return counts;
}

}  // namespace mhd
