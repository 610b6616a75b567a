#pragma once
// What tests of files share: a directory of all ranks, boxes cut unevenly, values that name their cell and field.

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "io/snapshot.hpp"
#include "tests/catch.hpp"

namespace mhd {

/// A directory that all ranks see, removed at the end.
class SharedDirectory {
 public:
  explicit SharedDirectory(const Comm& comm) : comm_(comm) {
    std::string pattern = (std::filesystem::temp_directory_path() / "mhdsim-snapshot-XXXXXX").string();
    if (comm.root() && !::mkdtemp(pattern.data())) pattern.clear();
    path_ = comm.broadcast(pattern);
    REQUIRE(!path_.empty());
  }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;
  ~SharedDirectory() {
    comm_.barrier();
    std::error_code ignored;
    if (comm_.root()) std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + '/' + name; }
  const std::string& path() const { return path_; }

 private:
  Comm comm_;
  std::string path_;
};

/// Unequal shares of an axis: the last rank gets what is left, and ranks beyond the cells get nothing.
inline Box share(const Grid& grid, int axis, int rank, int ranks) {
  Box box = grid.box();
  const int cells = grid.cells[axis];
  const auto edge = [&](int r) { return r == ranks ? cells : std::min(cells, r * (1 + cells / (ranks + 1))); };
  box.lower[axis] = edge(rank);
  box.upper[axis] = edge(rank + 1);
  return box;
}

/// Differs for every cell and field; among them are values that a careless copy would lose.
inline double value_at(Field field, const Grid& grid, Int3 c) {
  const double id = c.x + grid.cells.x * (c.y + static_cast<double>(grid.cells.y) * c.z);
  if (field == Field::uy && id == 1) return -0.0;
  if (field == Field::uy && id == 2) return std::numeric_limits<double>::denorm_min();
  return (1.0 + static_cast<int>(field)) / 3.0 + id / 7.0;
}

/// A subdomain with padded rows and planes, as a solver would hold it.
struct Subdomain {
  Grid grid;
  Box box;
  std::vector<double> storage;

  FieldView view(Field field) {
    const Int3 n = box.size();
    const std::ptrdiff_t stride_y = n.x + 3, stride_z = stride_y * (n.y + 2);
    storage.assign(static_cast<std::size_t>(stride_z * n.z), -99.0);
    for (int z = 0; z < n.z; ++z)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x)
          storage[static_cast<std::size_t>(x + y * stride_y + z * stride_z)] =
              value_at(field, grid, box.lower + Int3{x, y, z});
    return {storage.data(), n, stride_y, stride_z};
  }
};

inline SnapshotHeader header_of(const Grid& grid, Precision precision) {
  SnapshotHeader header;
  header.grid = grid;
  header.time = 0.1;
  header.step = 12345678901;
  header.dt = 1.0 / 3.0;
  header.precision = precision;
  header.config = "[grid]\ncells = [11, 7, 13]\n# a comment with umlauts: äöü\n";
  header.build = {"1.2.3", "abcdef", "g++ 12", "MPICH 4", "HDF5 1.10.8"};
  return header;
}

inline Grid uneven_grid() {
  Grid grid;
  grid.cells = {11, 7, 13};
  grid.origin = {-1, 0.25, 3};
  grid.size = {2, 0.7, 1.3};
  return grid;
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// Cells of `box` whose values differ from the pattern in any bit.
inline int wrong_cells(const std::vector<double>& values, Field field, const Grid& grid, const Box& box, bool rounded) {
  int wrong = 0;
  std::size_t i = 0;
  for (int z = box.lower.z; z < box.upper.z; ++z)
    for (int y = box.lower.y; y < box.upper.y; ++y)
      for (int x = box.lower.x; x < box.upper.x; ++x, ++i) {
        const double exact = value_at(field, grid, {x, y, z});
        wrong += !same_bits(values[i], rounded ? static_cast<double>(static_cast<float>(exact)) : exact);
      }
  return wrong;
}

}  // namespace mhd
