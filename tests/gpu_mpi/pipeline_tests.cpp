// The GPU solver on several ranks against the CPU solver on one: the same bits, whatever the transport, the grid, the
// decomposition, the overlap, and the order in which the stages of the pipeline come. The ranks may share a device.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/initial.hpp"
#include "core/nodes.hpp"
#include "core/regions.hpp"
#include "core/solver_cpu.hpp"
#include "gpu/device.hpp"
#include "gpu/halo_check.hpp"
#include "gpu/solver_gpu.hpp"
#include "gpu/transport.hpp"
#include "tests/catch.hpp"
#include "tests/gpu_runs.hpp"

using namespace mhd;

namespace {

/// False, with one clear line, where no device is present.
bool have_device(const Comm& comm) {
  std::string why = "the driver reports none";
  static const bool present = [&] {
    const bool found = comm.minimum(std::int64_t{gpu::device_count(&why)}) > 0;
    if (found) gpu::select_device(Nodes(comm).local_rank(comm.rank()), comm.size(), true);
    if (!found && comm.root()) std::printf("skipped: no GPU here (%s)\n", why.c_str());
    return found;
  }();
  return present;
}

/// Those that this MPI can do, on one host. Tests of an MPI that takes device memory without saying so set
/// MHDSIM_TEST_CUDA_AWARE=1.
std::vector<TransportChoice> transports() {
  std::vector<TransportChoice> list = {TransportChoice::host_staged, TransportChoice::peer};
  if (gpu::cuda_support_of_mpi() == 1 || std::getenv("MHDSIM_TEST_CUDA_AWARE"))
    list.insert(list.end(), {TransportChoice::cuda_aware, TransportChoice::mixed});
  return list;
}

void initialise(Solver& solver, const Config& config, const Box& box) {
  std::vector<double> values(static_cast<std::size_t>(box.volume()));
  for (int slot = 0; slot < config.physics.fields().count(); ++slot) {
    initial_field(config, Grid(config.grid), box, config.physics.fields().field(slot), values);
    solver.set_field(slot, values);
  }
}

/// Values of this rank's cells whose bits differ from those of the solver of the whole grid.
std::int64_t different_values(Solver& part, Solver& whole, const Box& box, int slots) {
  std::int64_t different = 0;
  for (int slot = 0; slot < slots; ++slot) {
    const FieldView a = part.field(slot), b = whole.field(slot);
    for (int k = 0; k < a.cells.z; ++k)
      for (int j = 0; j < a.cells.y; ++j)
        for (int i = 0; i < a.cells.x; ++i) {
          const double x = a.data[i + j * a.stride_y + k * a.stride_z];
          const double y = b.data[box.lower.x + i + (box.lower.y + j) * b.stride_y + (box.lower.z + k) * b.stride_z];
          different += std::bit_cast<std::uint64_t>(x) != std::bit_cast<std::uint64_t>(y);
        }
  }
  return different;
}

/// Ways to cut a subdomain, in turn: tests do not measure which is fastest.
Int3 next_cut() {
  static int count = 0;
  const Int3 cuts[] = {{1, 1, 1}, {32, 6, 8}, {32, 6, 1}, {16, 12, 8}, {1, 1, 8}};
  return cuts[count++ % std::size(cuts)];
}

bool feasible(const Config& config, int ranks) {
  const auto counts = feasible_rank_counts(Grid(config.grid), ranks);
  return std::find(counts.begin(), counts.end(), ranks) != counts.end();
}

/// The decomposition of a run. One rank exchanges with itself along all axes: through the same messages and stages.
Decomposition exchanging(const Config& config, const Comm& comm) {
  const Decomposition decomposition(Grid(config.grid), comm.size(), config.grid.decomposition);
  return comm.size() == 1 ? decomposition.exchanging({true, true, true}) : decomposition;
}

/// All decompositions into this number of subdomains that are thick enough.
std::vector<Int3> decompositions(const Config& config, int ranks) {
  std::vector<Int3> list;
  for (int x = 1; x <= ranks; ++x)
    for (int y = 1; x * y <= ranks; ++y) {
      if (ranks % (x * y) != 0) continue;
      const Int3 parts{x, y, ranks / (x * y)};
      try {
        const Decomposition possible(Grid(config.grid), ranks, parts);
        list.push_back(parts);
      } catch (const Error&) {
        // Subdomains thinner than the stencil radius.
      }
    }
  return list;
}

/// Steps on both, with a Courant rate and diagnostics in between, as a run does.
void check_against_cpu(const Config& config, GpuOptions options, const Comm& comm, CpuSolver& reference, int steps) {
  if (!options.test.cut) options.test.cut = next_cut();
  const Decomposition decomposition = exchanging(config, comm);
  const Box box = decomposition.box(comm.rank());
  INFO(to_string(config.grid.cells) << ", cut " << to_string(*options.test.cut) << ", order " << config.grid.order
                                    << ", subdomains " << to_string(decomposition.subdomains()) << ", transport "
                                    << static_cast<int>(config.run.transport) << ", corners "
                                    << config.run.exchange_corners << ", overlap " << options.overlap << ", delays "
                                    << options.test.stress_seed);
  GpuSolver device(config, decomposition, comm, options);
  initialise(device, config, box);
  for (int step = 0; step < steps; ++step) {
    if (step == 1) device.courant_rate();
    if (step == 2) device.start_diagnostics();
    device.step(0.01);
    if (step == 2) device.finish_diagnostics();
  }
  CHECK(device.finite());
  CHECK(different_values(device, reference, box, config.physics.fields().count()) == 0);
}

CpuSolver advanced_on_cpu(const Config& config, int steps) {
  Config alone = config;
  alone.grid.decomposition.reset();
  const Decomposition whole(Grid(config.grid), 1);
  CpuSolver cpu(alone, whole, Comm());
  initialise(cpu, alone, whole.box(0));
  for (int step = 0; step < steps; ++step) cpu.step(0.01);
  REQUIRE(cpu.finite());
  return cpu;
}

}  // namespace

TEST_CASE("several ranks have the bits of one, for every transport and decomposition", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  // Sizes that divide unevenly; subdomains down to less than two radii, where all is outer; 3 inner cells; large ones.
  const Int3 grids[] = {{40, 37, 50}, {23, 26, 25}, {70, 33, 29}};
  for (const Int3 cells : grids) {
    Config config = gpu_test_config(cells, 6);
    CpuSolver reference = advanced_on_cpu(config, 3);
    for (const Int3 parts : decompositions(config, comm.size()))
      for (const TransportChoice transport : transports())
        for (const bool overlap : {true, false}) {
          config.grid.decomposition = parts;
          config.run.transport = transport;
          config.run.exchange_corners = overlap && parts.x > 1;
          check_against_cpu(config, {.overlap = overlap}, comm, reference, 3);
        }
  }
}

TEST_CASE("several ranks have the bits of one, for every order and physics", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  for (const int order : {2, 4, 6, 8})
    for (const bool magnetic : {true, false})
      for (const bool entropy : {true, false}) {
        Config config = gpu_test_config({35, 34, 36}, order, magnetic, entropy);
        if (!feasible(config, comm.size())) continue;
        CpuSolver reference = advanced_on_cpu(config, 2);
        for (const bool tensor_copies : {true, false})
          check_against_cpu(config, {.tensor_copies = tensor_copies}, comm, reference, 2);
      }
}

TEST_CASE("axes of one cell", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  for (const Int3 cells : {Int3{40, 40, 1}, Int3{1, 40, 40}, Int3{40, 1, 40}, Int3{1, 1, 40}, Int3{64, 1, 1}}) {
    const Config config = gpu_test_config(cells, 6);
    if (!feasible(config, comm.size())) continue;
    CpuSolver reference = advanced_on_cpu(config, 3);
    check_against_cpu(config, {}, comm, reference, 3);
  }
}

TEST_CASE("delays before every pack, send, unpack and segment change no bit", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  Config config = gpu_test_config({42, 40, 44}, 6);
  CpuSolver reference = advanced_on_cpu(config, 8);
  std::uint64_t seed = 1;
  for (const Int3 parts : decompositions(config, comm.size()))
    for (const TransportChoice transport : transports())
      for (const bool overlap : {true, false}) {
        config.grid.decomposition = parts;
        config.run.transport = transport;
        config.run.exchange_corners = seed % 2 == 0;
        check_against_cpu(config, {.overlap = overlap, .test = {.stress_seed = seed++}}, comm, reference, 8);
      }
}

TEST_CASE("without an exchange of halos the bits differ", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  const Config config = gpu_test_config({40, 37, 50}, 6);
  CpuSolver reference = advanced_on_cpu(config, 3);
  const Decomposition decomposition = exchanging(config, comm);
  GpuSolver device(config, decomposition, comm, {.exchange = false});
  initialise(device, config, decomposition.box(comm.rank()));
  for (int step = 0; step < 3; ++step) device.step(0.01);
  CHECK(different_values(device, reference, decomposition.box(comm.rank()), 8) > 0);
}

TEST_CASE("Courant rate and diagnostics have the bits of one rank, also while a step is under way", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  Config config = gpu_test_config({42, 37, 50}, 6);
  CpuSolver reference = advanced_on_cpu(config, 0);
  const double rate = reference.courant_rate();
  const DiagnosticSums expected = reference.diagnostics();
  for (const TransportChoice transport : transports())
    for (const bool rate_first : {true, false}) {
      config.run.transport = transport;
      const Decomposition decomposition = exchanging(config, comm);
      GpuSolver device(config, decomposition, comm, {.test = {.stress_seed = 11, .cut = next_cut()}});
      initialise(device, config, decomposition.box(comm.rank()));
      if (rate_first) CHECK(comm.maximum(device.courant_rate()) == rate);
      device.start_diagnostics();
      device.step(0.01);
      DiagnosticSums sums = device.finish_diagnostics();
      sums.reduce(comm);
      CHECK(diagnostic_values(config.physics.fields(), sums, config.grid.cells.product()) ==
            diagnostic_values(config.physics.fields(), expected, config.grid.cells.product()));
    }
}

TEST_CASE("device memory is constant over many steps", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  const int steps = comm.size() <= 2 ? 10000 : 200;  // more ranks share devices, which is slow
  for (const TransportChoice transport : transports()) {
    Config config = gpu_test_config({40, 37, 50}, 6);
    config.run.transport = transport;
    const Decomposition decomposition = exchanging(config, comm);
    GpuSolver device(config, decomposition, comm, {.test = {.cut = Int3{1, 1, 1}}});
    initialise(device, config, decomposition.box(comm.rank()));
    const auto free_bytes = [&] {
      device.synchronize();
      comm.barrier();
      return gpu::current_device().free_bytes;
    };
    for (int step = 0; step < 20; ++step) device.step(1e-9);
    const std::size_t before = free_bytes();
    for (int step = 0; step < steps; ++step) device.step(1e-9);
    CHECK(free_bytes() == before);
    CHECK(device.finite());
  }
}

TEST_CASE("where nodes are several, peers are those of the node and MPI brings the rest", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm) || comm.size() < 4) return;
  Config config = gpu_test_config({40, 37, 50}, 6);
  config.run.transport = TransportChoice::peer;
  CpuSolver reference = advanced_on_cpu(config, 3);
  const GpuOptions pretended{.test = {.stress_seed = 3, .ranks_per_node = 2}};
  check_against_cpu(config, pretended, comm, reference, 3);
  const Decomposition decomposition = exchanging(config, comm);
  const std::string text = GpuSolver(config, decomposition, comm, pretended).transport();
  CHECK(text.find(gpu::cuda_support_of_mpi() == 1
                      ? "within nodes, by CUDA-aware MPI between"
                      : "within nodes, through pinned host memory between") != std::string::npos);
  std::string refusal;
  try {
    const GpuSolver alone(config, decomposition, comm, {.test = {.ranks_per_node = 1}});
  } catch (const Error& e) {
    refusal = e.what();
  }
  CHECK(refusal.find("no neighbours share a node") != std::string::npos);
}

TEST_CASE("the fastest cut is found by a trial, which leaves no trace", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  // In the second grid the cuts that are possible differ between the ranks.
  for (const Int3 cells : {Int3{70, 40, 45}, Int3{40, 37, 50}, Int3{40, 37, 13 * comm.size() + 1}}) {
    const Config config = gpu_test_config(cells, 6);
    CpuSolver reference = advanced_on_cpu(config, 3);
    const Decomposition decomposition = exchanging(config, comm);
    const Box box = decomposition.box(comm.rank());
    GpuSolver device(config, decomposition, comm);
    initialise(device, config, box);
    for (int step = 0; step < 3; ++step) device.step(0.01);
    CHECK(device.finite());
    CHECK(different_values(device, reference, box, config.physics.fields().count()) == 0);
    CHECK(device.overlap().find("fastest of ") != std::string::npos);
  }
}

TEST_CASE("ten runs have the same bits, with delays or without", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  const Config config = gpu_test_config({70, 40, 45}, 6);
  CpuSolver reference = advanced_on_cpu(config, 20);
  for (std::uint64_t repetition = 0; repetition < 10; ++repetition)
    check_against_cpu(config, {.test = {.stress_seed = repetition % 2 == 0 ? 0 : 100 + repetition}}, comm, reference,
                      20);
}

TEST_CASE("the stages of a step are recorded", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  const Config config = gpu_test_config({70, 40, 45}, 6);
  const Decomposition decomposition = exchanging(config, comm);
  GpuSolver device(config, decomposition, comm, {.test = {.cut = Int3{1, 1, 1}}});
  initialise(device, config, decomposition.box(comm.rank()));
  device.timed_step(1e-6);
  std::map<std::string, int> count;
  for (const TimelineEntry& stage : device.timed_step(1e-6)) {
    CHECK(stage.begin >= 0);
    CHECK(stage.end >= stage.begin);
    ++count[stage.name.substr(0, stage.name.find_last_not_of(" 0123456789") + 1)];
  }
  for (const char* stage : {"pack", "inner"}) CHECK(count[stage] == 3);
  CHECK(count["outer"] % 3 == 0);
  CHECK(count["outer"] > 0);
  CHECK(count["send to"] == count["unpack from"]);
}

TEST_CASE("the transport that was chosen is told, with the reason", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  Config config = gpu_test_config({40, 37, 50}, 6);
  const Decomposition decomposition = exchanging(config, comm);
  config.run.transport = TransportChoice::host_staged;
  CHECK(GpuSolver(config, decomposition, comm).transport() == "through pinned host memory: as configured");
  config.run.require_cuda_aware = true;
  std::string message;
  try {
    const GpuSolver refused(config, decomposition, comm);
  } catch (const Error& e) {
    CHECK(e.code() == ExitCode::device);
    message = e.what();
  }
  CHECK(message.find("a CUDA-aware MPI is required") != std::string::npos);
  config.run.require_cuda_aware = false;
  config.run.transport = TransportChoice::automatic;
  const std::string chosen = GpuSolver(config, decomposition, comm).transport();
  const bool says_yes = gpu::cuda_support_of_mpi() == 1;
  CHECK((chosen.find("by CUDA-aware MPI") == 0) == says_yes);
  CHECK((chosen.find("from device to device by CUDA IPC") == 0) == !says_yes);
}

TEST_CASE("every halo value arrives where it belongs, for random grids and many rounds", "[gpu_mpi]") {
  const Comm comm(MPI_COMM_WORLD);
  if (!have_device(comm)) return;
  std::uint64_t state = 12345;  // the same on all ranks
  const auto random = [&](int below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(below));
  };
  for (int trial = 0; trial < 12; ++trial) {
    const int shortest = comm.size() == 1 ? 4 : 1;  // an axis must hold as many cells as a stencil reads
    Config config =
        gpu_test_config({shortest + random(60), shortest + random(60), shortest + random(60)}, 2 + 2 * random(4));
    const std::vector<Int3> possible = decompositions(config, comm.size());
    if (possible.empty()) continue;
    const Int3 parts = possible[static_cast<std::size_t>(random(static_cast<int>(possible.size())))];
    config.grid.decomposition = parts;
    const Decomposition decomposition = exchanging(config, comm);
    for (const TransportChoice transport : transports())
      for (const bool corners : {false, true}) {
        config.run.transport = transport;
        config.run.exchange_corners = corners;
        INFO(to_string(config.grid.cells) << ", order " << config.grid.order << ", subdomains " << to_string(parts)
                                          << ", transport " << static_cast<int>(transport));
        const gpu::HaloCheck check =
            gpu::check_halos(decomposition, comm, 8, config.run, 30, {.stress_seed = trial % 2 == 0 ? 0u : 77u});
        CHECK(check.wrong == 0);
        CHECK(check.values > 0);
      }
  }
}
