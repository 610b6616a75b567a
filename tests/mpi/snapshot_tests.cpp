// Snapshots on any number of ranks. Boxes are cut here, so that axes and unevenness do not depend on the decomposition.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/file.hpp"
#include "io/snapshot.hpp"
#include "tests/catch.hpp"
#include "tests/mpi/snapshot_fixtures.hpp"

using namespace mhd;

namespace {

namespace fs = std::filesystem;

/// Collective transfers between more ranks than cores take milliseconds each: tests of where cells go need few fields.
const std::vector<Field> two_fields = {Field::uy, Field::az};

void write(const std::string& path, const Grid& grid, Precision precision, const Box& box, const Comm& comm,
           std::size_t staging_bytes = 1 << 20) {
  Subdomain subdomain{grid, box, {}};
  write_snapshot(
      path, header_of(grid, precision), two_fields, [&](Field f) { return subdomain.view(f); }, box, comm,
      staging_bytes);
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
