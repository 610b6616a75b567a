// More than 2 GiB per rank (on two) and more than 4 GiB per field: where counts of 32 bits end. Only with
// MHDSIM_HUGE_TESTS in the environment: it takes minutes, 10 GiB of memory and of disk in the temporary directory.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "io/checkpoint.hpp"
#include "io/checksum.hpp"
#include "io/seal.hpp"
#include "io/slabs.hpp"
#include "io/snapshot.hpp"
#include "tests/catch.hpp"
#include "tests/mpi/snapshot_fixtures.hpp"

using namespace mhd;

namespace {

constexpr double needed_bytes = 10e9;

/// Empty, or why the test cannot run here.
std::string obstacle() {
  if (!std::getenv("MHDSIM_HUGE_TESTS")) return "set MHDSIM_HUGE_TESTS=1 to run it";
  const auto disk = static_cast<double>(std::filesystem::space(std::filesystem::temp_directory_path()).available);
  if (disk < needed_bytes) return "too little space in " + std::filesystem::temp_directory_path().string();
  std::ifstream memory("/proc/meminfo");
  for (std::string word; memory >> word;)
    if (word == "MemAvailable:") {
      double kilobytes = 0;
      memory >> kilobytes;
      return 1024 * kilobytes < needed_bytes ? "too little memory" : "";
    }
  return "";
}

/// Each cell has a value of its own.
double huge_value(Int3 cells, Int3 c) {
  return 0.5 + static_cast<double>(c.x + std::int64_t{cells.x} * (c.y + std::int64_t{cells.y} * c.z));
}

std::int64_t wrong_values(const SnapshotFile& file, Field field, const Box& box) {
  const Int3 cells = file.info().grid.cells;
  std::int64_t wrong = 0;
  std::vector<double> values;
  // The same number of reads on every rank: they are collective.
  const std::vector<Box> pieces = slabs(box, std::int64_t{1} << 24);
  for (const Box& piece : pieces) {
    values.resize(static_cast<std::size_t>(piece.volume()));
    file.read(field, piece, values);
    std::size_t i = 0;
    for (int z = piece.lower.z; z < piece.upper.z; ++z)
      for (int y = piece.lower.y; y < piece.upper.y; ++y)
        for (int x = piece.lower.x; x < piece.upper.x; ++x) wrong += values[i++] != huge_value(cells, {x, y, z});
  }
  return wrong;
}

}  // namespace

TEST_CASE("fields beyond 4 GiB and ranks beyond 2 GiB are written and read back", "[huge]") {
  const Comm comm(MPI_COMM_WORLD);
  const std::string problem = comm.broadcast(comm.root() ? obstacle() : "");
  if (!problem.empty()) {
    WARN("skipped: " << problem);
    return;
  }
  const SharedDirectory directory(comm);
  Grid grid = uneven_grid();
  grid.cells = {820, 820, 820};  // 4.4 GB of float64
  REQUIRE(snapshot_bytes(grid, 1, Precision::float64) > std::int64_t{1} << 32);
  const auto halves = [&](int axis) {
    Box box = grid.box();
    box.lower[axis] = 820 / comm.size() * comm.rank();
    box.upper[axis] = comm.rank() + 1 == comm.size() ? 820 : 820 / comm.size() * (comm.rank() + 1);
    return box;
  };
  const Box box = halves(2);
  const Int3 n = box.size();
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(box.volume()));
  for (int z = box.lower.z; z < box.upper.z; ++z)
    for (int y = box.lower.y; y < box.upper.y; ++y)
      for (int x = box.lower.x; x < box.upper.x; ++x) values.push_back(huge_value(grid.cells, {x, y, z}));
  const FieldView view{values.data(), n, n.x, std::ptrdiff_t{n.x} * n.y};
  const std::uint64_t sum = sum_checksums(field_checksum(view, box, grid.cells), comm);
  const std::vector<Field> one = {Field::ss};
  const std::string path = directory.file("huge.h5");
  SnapshotHeader header = header_of(grid, Precision::float64);

  header.checkpoint = CheckpointRecord{0, {sum}};
  write_snapshot(
      path, header, one, [&](Field) { return view; }, box, comm);
  {
    const CheckpointFile sealed(path, comm);
    CHECK(sealed.info().checkpoint->checksums == std::vector<std::uint64_t>{sum});
    CHECK(wrong_values(SnapshotFile(path, comm), Field::ss, halves(1)) == 0);
  }
  header.checkpoint.reset();
  for (const int level : {0, 1}) {
    header.compression = level;
    write_snapshot(
        path, header, one, [&](Field) { return view; }, box, comm);
    CHECK(wrong_values(SnapshotFile(path, comm), Field::ss, halves(0)) == 0);
  }
}
