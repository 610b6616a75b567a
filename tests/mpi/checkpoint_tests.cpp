// Checkpoints on any number of ranks: what is written and read, going on on other ranks, and failures of single ranks.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/initial.hpp"
#include "core/solver_cpu.hpp"
#include "io/checkpoint.hpp"
#include "io/file.hpp"
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

/// A directory that all ranks see, removed at the end.
class SharedDirectory {
 public:
  explicit SharedDirectory(const Comm& comm) : comm_(comm) {
    path_ = (fs::temp_directory_path() / "mhdsim-checkpoint-XXXXXX").string();
    if (comm.root()) REQUIRE(::mkdtemp(path_.data()) != nullptr);
    path_ = comm.broadcast(path_);
  }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;
  ~SharedDirectory() {
    comm_.barrier();
    std::error_code ignored;
    if (comm_.root()) fs::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + '/' + name; }

 private:
  Comm comm_;
  std::string path_;
};

Grid small_grid() {
  Grid grid;
  grid.cells = {9, 7, 5};
  grid.size = {1, 2, 3};
  return grid;
}

/// The first so many ranks; Comm() and false on the others.
class FirstRanks {
 public:
  FirstRanks(const Comm& comm, int ranks) : member_(comm.rank() < ranks) {
    REQUIRE(MPI_Comm_split(comm.handle(), member_ ? 0 : MPI_UNDEFINED, comm.rank(), &handle_) == MPI_SUCCESS);
    if (member_) comm_ = Comm(handle_);
  }
  ~FirstRanks() {
    if (member_) MPI_Comm_free(&handle_);
  }
  FirstRanks(const FirstRanks&) = delete;
  FirstRanks& operator=(const FirstRanks&) = delete;
  bool member() const { return member_; }
  const Comm& comm() const { return comm_; }

 private:
  bool member_;
  MPI_Comm handle_ = MPI_COMM_NULL;
  Comm comm_;
};

/// The fields of `hydrodynamics`.
Config turbulent() {
  Config c;
  c.grid.cells = {17, 16, 19};
  c.grid.order = 4;
  c.physics.magnetic = false;
  c.physics.equation_of_state = EquationOfState::isothermal;
  c.physics.viscosity = 0.01;
  c.initial.kind = InitialKind::random;
  c.initial.low = -0.1;
  c.initial.high = 0.1;
  return c;
}

void step_twice(CpuSolver& solver) {
  solver.step(0.01);
  solver.step(0.02);
}

/// From the initial condition, or from a checkpoint; two steps; into a checkpoint.
void run_part(const Config& config, const std::string& from, const std::string& to, const Comm& comm) {
  const Decomposition decomposition(Grid(config.grid), comm.size());
  const Box box = decomposition.box(comm.rank());
  const FieldSet fields = config.physics.fields();
  CpuSolver solver(config, decomposition, comm);
  RunState state;
  if (from.empty()) {
    std::vector<double> values(static_cast<std::size_t>(box.volume()));
    for (int slot = 0; slot < fields.count(); ++slot) {
      initial_field(config, Grid(config.grid), box, fields.field(slot), values);
      solver.set_field(slot, values);
    }
  } else {
    const CheckpointFile file(from, comm);
    state = file.state();
    file.read(config.grid.cells, fields, box,
              [&](int slot, std::span<const double> values) { solver.set_field(slot, values); });
  }
  step_twice(solver);
  state = {state.step + 2, state.t + 0.03, 0.02, {}};
  SnapshotHeader header;
  header.grid = Grid(config.grid);
  write_checkpoint(
      to, header, state, fields, [&](Field f) { return solver.field(fields.slot(f)); }, box, comm);
}

}  // namespace

TEST_CASE("a checkpoint has the same bytes from any ranks, and any ranks read it") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  const std::string one = directory.file("one.h5"), many = directory.file("many.h5");
  const Grid grid = small_grid();
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
}

TEST_CASE("from any ranks to any others a run goes on with the bits of one that never stopped") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  const Config config = turbulent();
  const std::string middle = directory.file("middle.h5"), end = directory.file("end.h5");
  const std::string expected = directory.file("expected.h5");
  if (comm.root()) {
    run_part(config, "", directory.file("half.h5"), Comm());
    run_part(config, directory.file("half.h5"), expected, Comm());
  }
  comm.barrier();
  const std::string bytes = bytes_of(expected);
  REQUIRE(bytes.size() > std::size_t{4} * 8 * 17 * 16 * 19);
  // Collective transfers between more ranks than cores take long: few pairs here, all of them in cli/restart.
  const int all = comm.size(), half = std::max(1, all / 2);
  for (const auto& [before, after] : std::set<std::pair<int, int>>{{all, half}, {half, all}}) {
    const FirstRanks writers(comm, before), readers(comm, after);
    INFO(before << " ranks, then " << after);
    if (writers.member()) run_part(config, "", middle, writers.comm());
    comm.barrier();
    if (readers.member()) run_part(config, middle, end, readers.comm());
    comm.barrier();
    CHECK(bytes_of(end) == bytes);
    comm.barrier();
  }
}

TEST_CASE("a rank that cannot supply its part fails the checkpoint on every rank, and the earlier one stays") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  const Grid grid = small_grid();
  const std::string path = directory.file("a.h5");
  const Box box = slab(grid.cells, 0, comm);
  REQUIRE_FALSE(box.empty());
  const RunState state{17, 0.1, 1.0 / 3.0, {}};
  write(path, grid, state, box, comm);
  const std::string before = bytes_of(path);
  comm.barrier();
  SnapshotHeader header;
  header.grid = grid;
  const std::vector<double> values(static_cast<std::size_t>(box.volume()), 1.0);
  const Int3 n = box.size();
  const FieldView view{values.data(), n, n.x, std::ptrdiff_t{n.x} * n.y};
  // Every field is asked for twice: for its checksum, then to be written.
  for (const int fatal_request : {1, hydrodynamics.count() + 2})
    for (const int bad : std::set{0, comm.size() - 1}) {
      int requests = 0;
      const auto source = [&](Field) {
        if (++requests == fatal_request && comm.rank() == bad) throw Error(ExitCode::device, "lost the device");
        return view;
      };
      std::string message;
      ExitCode code = ExitCode::complete;
      try {
        write_checkpoint(path, header, state, hydrodynamics, source, box, comm);
      } catch (const Error& error) {
        message = error.what();
        code = error.code();
        CHECK(error.scope() == ErrorScope::everywhere);
      }
      INFO("rank " << bad << ", request " << fatal_request);
      CHECK(code == ExitCode::device);
      CHECK(message.find("lost the device") != std::string::npos);
      if (comm.size() > 1) CHECK(message.find("(rank " + std::to_string(bad) + ")") != std::string::npos);
      comm.barrier();
      CHECK(bytes_of(path) == before);
      CHECK_FALSE(fs::exists(partial_name(path)));
      comm.barrier();
    }
}

TEST_CASE("a checkpoint that is missing, cut, foreign or of another run is refused on every rank") {
  const Comm comm(MPI_COMM_WORLD);
  const SharedDirectory directory(comm);
  const Grid grid = small_grid();
  const std::string whole = directory.file("whole.h5"), path = directory.file("damaged.h5");
  const Box box = slab(grid.cells, 2, comm);
  write(whole, grid, {17, 0.1, 0.1, {}}, box, comm);
  const std::string bytes = bytes_of(whole);
  CHECK(read(directory.file("none.h5"), grid, box, comm).find("none.h5") != std::string::npos);
  for (const std::string& content :
       {std::string(), bytes.substr(0, bytes.size() - 1), bytes + "x", std::string(5000, 'x')}) {
    if (comm.root()) std::ofstream(path, std::ios::binary) << content;
    comm.barrier();
    INFO(content.size() << " bytes of " << bytes.size());
    CHECK(read(path, grid, box, comm).find(path) != std::string::npos);
    comm.barrier();
  }
  Grid other = grid;
  other.cells.z += 1;
  CHECK(read(whole, other, slab(other.cells, 2, comm), comm).find("expected a grid of 9 x 7 x 6 cells") !=
        std::string::npos);
  const CheckpointFile file(whole, comm);
  std::string message;
  try {
    file.read(grid.cells, {true, false}, box, [](int, std::span<const double>) {});
  } catch (const Error& error) {
    message = error.what();
    CHECK(error.scope() == ErrorScope::everywhere);
  }
  CHECK(message.find("found no dataset 'ax'") != std::string::npos);
}
