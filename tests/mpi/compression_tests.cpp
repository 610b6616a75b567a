// Compressed snapshots: the same values, and the same bytes from any ranks.

#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/chunks.hpp"
#include "io/file.hpp"
#include "io/snapshot.hpp"
#include "tests/catch.hpp"
#include "tests/mpi/snapshot_fixtures.hpp"

using namespace mhd;

namespace {

const std::vector<Field> two_fields = {Field::uy, Field::az};

void write(const std::string& path, const Grid& grid, Precision precision, int level, const Box& box,
           const Comm& comm) {
  Subdomain subdomain{grid, box, {}};
  SnapshotHeader header = header_of(grid, precision);
  header.compression = level;
  write_snapshot(
      path, header, two_fields, [&](Field f) { return subdomain.view(f); }, box, comm);
}

}  // namespace

TEST_CASE("what any ranks compress has the bytes of one rank, and reads back bit for bit") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  Grid grid = uneven_grid();
  grid.cells = {67, 45, 61};  // several chunks of float64, the last one not full
  const Precision precision = GENERATE(Precision::float64, Precision::float32);
  const std::string reference = directory.file("one.h5"), path = directory.file("many.h5");
  if (comm.root()) write(reference, grid, precision, 1, grid.box(), Comm());
  comm.barrier();
  for (int axis = 0; axis < 3; ++axis) {
    write(path, grid, precision, 1, share(grid, axis, comm.rank(), comm.size()), comm);
    CHECK(bytes_of(path) == bytes_of(reference));
    CHECK_FALSE(std::filesystem::exists(partial_name(path)));
    const SnapshotFile file(path, comm);
    CHECK(file.info().compression == 1);
    CHECK(file.info().field_bytes < snapshot_bytes(grid, 2, precision));
    const Box box = share(grid, (axis + 1) % 3, comm.rank(), comm.size());
    std::vector<double> values(static_cast<std::size_t>(box.volume()));
    for (const Field field : two_fields) {
      file.read(field, box, values);
      CHECK(wrong_cells(values, field, grid, box, precision == Precision::float32) == 0);
    }
    comm.barrier();
  }
}

TEST_CASE("values that cannot be compressed are stored as they are") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  Grid grid = uneven_grid();
  grid.cells = {40, 30, 20};
  const Box box = share(grid, 2, comm.rank(), comm.size());
  std::vector<double> noise(static_cast<std::size_t>(box.volume()));
  std::uint64_t bits = 1 + static_cast<std::uint64_t>(comm.rank());
  for (double& value : noise) {
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    value = std::bit_cast<double>(bits);
  }
  SnapshotHeader header = header_of(grid, Precision::float64);
  header.compression = 9;
  const std::string path = directory.file("noise.h5");
  const Int3 n = box.size();
  const std::vector<Field> one = {Field::ss};
  write_snapshot(
      path, header, one,
      [&](Field) {
        return FieldView{noise.data(), n, n.x, std::ptrdiff_t{n.x} * n.y};
      },
      box, comm);
  const SnapshotFile file(path, comm);
  std::vector<double> read(noise.size());
  file.read(Field::ss, box, read);
  int wrong = 0;
  for (std::size_t i = 0; i < read.size(); ++i) wrong += !same_bits(read[i], noise[i]);
  CHECK(wrong == 0);
}

TEST_CASE("a field that one rank cannot supply fails a compressed snapshot on every rank") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  const Grid grid = uneven_grid();
  const Box box = share(grid, 2, comm.rank(), comm.size());
  const std::string path = directory.file("a.h5");
  Subdomain subdomain{grid, box, {}};
  SnapshotHeader header = header_of(grid, Precision::float64);
  header.compression = 1;
  std::string message;
  try {
    write_snapshot(
        path, header, two_fields,
        [&](Field field) {
          if (field == Field::az && comm.rank() == comm.size() / 2) throw Error(ExitCode::device, "lost the device");
          return subdomain.view(field);
        },
        box, comm);
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message.find("lost the device") != std::string::npos);
  comm.barrier();
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK_FALSE(std::filesystem::exists(partial_name(path)));
}

TEST_CASE("chunks stay far below 4 GiB, and larger ones are refused before HDF5 sees them") {
  for (const Int3 cells : {Int3{16777216, 16384, 16}, Int3{820, 820, 820}, Int3{7, 5, 3}, Int3{1, 1, 1}})
    for (const int bytes : {4, 8}) {
      const Int3 chunk = hdf5::chunk_shape(cells, bytes);
      CHECK(chunk.product() * bytes <= hdf5::preferred_chunk_bytes);
      CHECK(intersect({{0, 0, 0}, chunk}, {{0, 0, 0}, cells}).size() == chunk);
      // Whole planes, whole rows, or a part of one.
      CHECK((chunk.z == 1 || (chunk.y == cells.y && chunk.x == cells.x)));
      CHECK((chunk.y == 1 || chunk.x == cells.x));
    }
  std::string message;
  try {
    hdf5::compressed_chunk({}, {1024, 1024, 512}, 8, 1, "a.h5");
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(message.find("4 GiB") != std::string::npos);
}
