// Snapshots on any number of ranks. Boxes are cut here, so that axes and unevenness do not depend on the decomposition.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/file.hpp"
#include "io/snapshot.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

namespace fs = std::filesystem;

/// A directory that all ranks see, removed at the end.
class SharedDirectory {
 public:
  explicit SharedDirectory(const Comm& comm) : comm_(comm) {
    std::string pattern = (fs::temp_directory_path() / "mhdsim-snapshot-XXXXXX").string();
    if (comm.root() && !::mkdtemp(pattern.data())) pattern.clear();
    path_ = comm.broadcast(pattern);
    REQUIRE(!path_.empty());
  }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;
  ~SharedDirectory() {
    comm_.barrier();
    std::error_code ignored;
    if (comm_.root()) fs::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + '/' + name; }
  const std::string& path() const { return path_; }

 private:
  Comm comm_;
  std::string path_;
};

/// Unequal shares of an axis: the last rank gets what is left, and ranks beyond the cells get nothing.
Box share(const Grid& grid, int axis, int rank, int ranks) {
  Box box = grid.box();
  const int cells = grid.cells[axis];
  const auto edge = [&](int r) { return r == ranks ? cells : std::min(cells, r * (1 + cells / (ranks + 1))); };
  box.lower[axis] = edge(rank);
  box.upper[axis] = edge(rank + 1);
  return box;
}

/// Differs for every cell and field; among them are values that a careless copy would lose.
double value_at(Field field, const Grid& grid, Int3 c) {
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

SnapshotHeader header_of(const Grid& grid, Precision precision) {
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

Grid uneven_grid() {
  Grid grid;
  grid.cells = {11, 7, 13};
  grid.origin = {-1, 0.25, 3};
  grid.size = {2, 0.7, 1.3};
  return grid;
}

/// Collective transfers between more ranks than cores take milliseconds each: tests of where cells go need few fields.
const std::vector<Field> two_fields = {Field::uy, Field::az};

void write(const std::string& path, const Grid& grid, Precision precision, const Box& box, const Comm& comm,
           std::size_t staging_bytes = 1 << 20) {
  Subdomain subdomain{grid, box, {}};
  write_snapshot(
      path, header_of(grid, precision), two_fields, [&](Field f) { return subdomain.view(f); }, box, comm,
      staging_bytes);
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// Cells of `box` whose values differ from the pattern in any bit.
int wrong_cells(const std::vector<double>& values, Field field, const Grid& grid, const Box& box, bool rounded) {
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

}  // namespace

TEST_CASE("what any ranks write, other boxes read back bit for bit") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  const Grid grid = uneven_grid();
  const Precision precision = GENERATE(Precision::float64, Precision::float32);
  for (int axis = 0; axis < 3; ++axis) {
    const std::string path = directory.file(std::string("split_") + axis_name(axis) + ".h5");
    write(path, grid, precision, share(grid, axis, comm.rank(), comm.size()), comm);
    const SnapshotFile file(path, comm);
    const Box box = share(grid, (axis + 1) % 3, comm.rank(), comm.size());
    std::vector<double> values(static_cast<std::size_t>(box.volume()));
    for (const Field field : two_fields) {
      file.read(field, box, values);
      CHECK(wrong_cells(values, field, grid, box, precision == Precision::float32) == 0);
    }
  }
}

TEST_CASE("the file of many ranks has the bytes of the file of one") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  const Grid grid = uneven_grid();
  const Precision precision = GENERATE(Precision::float64, Precision::float32);
  const std::string reference = directory.file("one.h5");
  if (comm.root()) write(reference, grid, precision, grid.box(), Comm());
  comm.barrier();
  const std::string path = directory.file("many.h5");
  for (int axis = 0; axis < 3; ++axis) {
    write(path, grid, precision, share(grid, axis, comm.rank(), comm.size()), comm);
    CHECK(bytes_of(path) == bytes_of(reference));
    CHECK_FALSE(fs::exists(partial_name(path)));
    comm.barrier();
  }
}

TEST_CASE("fields that pass through a small staging buffer have the same bytes") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  Grid grid = uneven_grid();
  grid.cells = {5, 3, 7};
  const std::string reference = directory.file("one.h5"), path = directory.file("many.h5");
  if (comm.root()) write(reference, grid, Precision::float64, grid.box(), Comm());
  comm.barrier();
  // Room for planes, and for less than a row: several rounds, and more for some ranks than for others.
  for (const std::size_t staging : {std::size_t{240}, std::size_t{32}}) {
    write(path, grid, Precision::float64, share(grid, 2, comm.rank(), comm.size()), comm, staging);
    CHECK(bytes_of(path) == bytes_of(reference));
    comm.barrier();
  }
}

TEST_CASE("large arrays too have the bytes of the file of one rank") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  Grid grid = uneven_grid();
  grid.cells = {130, 67, 33};  // above the size from which arrays are aligned
  const std::string reference = directory.file("one.h5"), path = directory.file("many.h5");
  if (comm.root()) write(reference, grid, Precision::float64, grid.box(), Comm());
  comm.barrier();
  write(path, grid, Precision::float64, share(grid, 2, comm.rank(), comm.size()), comm);
  CHECK(bytes_of(path) == bytes_of(reference));
}

TEST_CASE("a snapshot tells everything about itself") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  const Grid grid = uneven_grid();
  const std::string path = directory.file("a.h5");
  SnapshotHeader header = header_of(grid, Precision::float32);
  header.config.append(100000, 'x');  // beyond the 64 KiB that older HDF5 formats allow
  Subdomain subdomain{grid, share(grid, 2, comm.rank(), comm.size()), {}};
  const std::vector<Field> some = {Field::lnrho, Field::az};
  write_snapshot(
      path, header, some, [&](Field f) { return subdomain.view(f); }, subdomain.box, comm);

  const SnapshotInfo info = read_snapshot_info(path);
  CHECK(info.fields == some);
  CHECK(info.grid.cells == grid.cells);
  CHECK(info.grid.origin == grid.origin);
  CHECK(info.grid.size == grid.size);
  CHECK(info.grid.order == grid.order);
  CHECK(info.time == header.time);
  CHECK(info.step == header.step);
  CHECK(info.dt == header.dt);
  CHECK(info.precision == Precision::float32);
  CHECK(info.config == header.config);
  CHECK(info.build == header.build);
  CHECK(info.file_bytes == static_cast<std::int64_t>(bytes_of(path).size()));

  Grid other = grid;
  other.size.y *= 2;
  CHECK_THROWS_AS(SnapshotFile(path, comm).require_grid(other), Error);
  CHECK_NOTHROW(SnapshotFile(path, comm).require_grid(grid));
}

TEST_CASE("a snapshot that cannot be written fails on every rank with one message") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  const Grid grid = uneven_grid();
  const Box box = share(grid, 0, comm.rank(), comm.size());
  const std::string path = directory.file("missing/a.h5");
  std::string message;
  try {
    write(path, grid, Precision::float64, box, comm);
  } catch (const Error& error) {
    message = error.what();
    CHECK(error.code() == ExitCode::io);
    CHECK(error.scope() == ErrorScope::everywhere);
  }
  CHECK(message.find(path) != std::string::npos);
  CHECK(message.find("No such file or directory") != std::string::npos);
  CHECK(message == comm.broadcast(message));
}

TEST_CASE("a field that one rank cannot supply fails on every rank and leaves earlier files alone") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  const Grid grid = uneven_grid();
  const Box box = share(grid, 2, comm.rank(), comm.size());
  const std::string path = directory.file("a.h5");
  write(path, grid, Precision::float64, box, comm);
  const std::string before = bytes_of(path);
  comm.barrier();

  Subdomain subdomain{grid, box, {}};
  const auto source = [&](Field field) {
    if (field == Field::az && comm.rank() == comm.size() / 2) throw Error(ExitCode::device, "lost the device");
    return subdomain.view(field);
  };
  // On many ranks the one in the middle may hold no cells and is not asked.
  const bool asked = comm.maximum(std::int64_t{!box.empty() && comm.rank() == comm.size() / 2}) == 1;
  REQUIRE(asked);
  std::string message;
  ExitCode code = ExitCode::complete;
  try {
    write_snapshot(path, header_of(grid, Precision::float64), two_fields, source, box, comm);
  } catch (const Error& error) {
    message = error.what();
    code = error.code();
  }
  CHECK(code == ExitCode::device);
  CHECK(message.find("lost the device") != std::string::npos);
  comm.barrier();
  CHECK(bytes_of(path) == before);
  CHECK_FALSE(fs::exists(partial_name(path)));
}

TEST_CASE("damaged and foreign files are refused on every rank") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  const Grid grid = uneven_grid();
  const std::string whole = directory.file("whole.h5"), path = directory.file("damaged.h5");
  write(whole, grid, Precision::float64, share(grid, 2, comm.rank(), comm.size()), comm);
  const std::string bytes = bytes_of(whole);
  for (const std::size_t kept : {std::size_t{0}, std::size_t{40}, std::size_t{3000}, bytes.size() - 1}) {
    if (comm.root()) std::ofstream(path, std::ios::binary) << bytes.substr(0, kept);
    comm.barrier();
    std::string message;
    try {
      const SnapshotFile file(path, comm);
    } catch (const Error& error) {
      message = error.what();
      CHECK(error.code() == ExitCode::io);
    }
    CHECK(message.find(path) != std::string::npos);
    CHECK(message == comm.broadcast(message));
    comm.barrier();
  }
}
