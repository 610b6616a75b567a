// Checkpoints on any number of ranks.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/checkpoint.hpp"
#include "tests/catch.hpp"

using namespace mhd;
namespace fs = std::filesystem;

namespace {

constexpr FieldSet hydrodynamics{false, false};

/// Slabs along an axis; ranks beyond its cells get nothing.
Box slab(Int3 cells, int axis, const Comm& comm) {
  Box box{{0, 0, 0}, cells};
  box.lower[axis] = cells[axis] * comm.rank() / comm.size();
  box.upper[axis] = cells[axis] * (comm.rank() + 1) / comm.size();
  return box;
}

double value_at(int slot, Int3 cell) { return (slot + 1) / 3.0 + cell.x / 7.0 + cell.y * 5.0 - cell.z * 1e-9; }

std::vector<double> values_of(int slot, const Box& box) {
  std::vector<double> values;
  for (int z = box.lower.z; z < box.upper.z; ++z)
    for (int y = box.lower.y; y < box.upper.y; ++y)
      for (int x = box.lower.x; x < box.upper.x; ++x) values.push_back(value_at(slot, {x, y, z}));
  return values;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write(const std::string& path, const Grid& grid, const RunState& state, const Box& box, const Comm& comm) {
  SnapshotHeader header;
  header.grid = grid;
  header.config = "[grid]\n";
  std::vector<double> values;
  const auto source = [&](Field field) {
    values = values_of(hydrodynamics.slot(field), box);
    const Int3 n = box.size();
    return FieldView{values.data(), n, n.x, std::ptrdiff_t{n.x} * n.y};
  };
  write_checkpoint(path, header, state, hydrodynamics, source, box, comm);
}

/// What reading says, the same on all ranks; empty where all values are right.
std::string read(const std::string& path, const Grid& grid, const Box& box, const Comm& comm) {
  try {
    const CheckpointFile file(path, comm);
    bool right = true;
    file.read(grid.cells, hydrodynamics, box, [&](int slot, std::span<const double> values) {
      const std::vector<double> expected = values_of(slot, box);
      right = right && std::equal(values.begin(), values.end(), expected.begin(), expected.end());
    });
    return comm.minimum(std::int64_t{right}) == 1 ? "" : "other values";
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::io);
    CHECK(error.scope() == ErrorScope::everywhere);
    CHECK(comm.broadcast(error.what()) == error.what());
    return error.what();
  }
}

}  // namespace

TEST_CASE("a checkpoint has the same bytes from any ranks, and any ranks read it") {
  const Comm comm(MPI_COMM_WORLD);
  std::string directory = (fs::temp_directory_path() / "mhdsim-checkpoint-XXXXXX").string();
  if (comm.root()) REQUIRE(::mkdtemp(directory.data()) != nullptr);
  directory = comm.broadcast(directory);
  const std::string one = directory + "/one.h5", many = directory + "/many.h5";
  Grid grid;
  grid.cells = {9, 7, 5};
  grid.size = {1, 2, 3};
  const RunState state{17, 0.1, 1.0 / 3.0, 2.0 / 7.0};
  if (comm.root()) write(one, grid, state, grid.box(), Comm());
  comm.barrier();
  for (int axis = 0; axis < 3; ++axis) {
    write(many, grid, state, slab(grid.cells, axis, comm), comm);
    CHECK(bytes_of(many) == bytes_of(one));
    CHECK(read(many, grid, slab(grid.cells, (axis + 1) % 3, comm), comm).empty());
    comm.barrier();
  }
  const RunState found = CheckpointFile(many, comm).state();
  CHECK(found.step == state.step);
  CHECK(found.t == state.t);
  CHECK(found.dt == state.dt);
  CHECK(found.courant_dt == state.courant_dt);

  // A bit of one value is the only thing that its seal does not see.
  std::string bytes = bytes_of(one);
  const double marked = value_at(2, {4, 3, 2});
  const auto at = bytes.find(std::string(reinterpret_cast<const char*>(&marked), sizeof(marked)));
  REQUIRE(at != std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  comm.barrier();
  if (comm.root()) std::ofstream(many, std::ios::binary) << bytes;
  comm.barrier();
  const std::string message = read(many, grid, slab(grid.cells, 2, comm), comm);
  CHECK(message.find(many + " is damaged: the checksum of field uy") != std::string::npos);
  comm.barrier();
  if (comm.root()) fs::remove_all(directory);
}
