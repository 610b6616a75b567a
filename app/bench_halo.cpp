#include "app/bench_halo.hpp"

#include "app/bench.hpp"
#include "core/error.hpp"
#if MHD_HAVE_CUDA
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "app/backend.hpp"
#include "app/initialise.hpp"
#include "app/report.hpp"
#include "core/nodes.hpp"
#include "core/statistics.hpp"
#include "gpu/device.hpp"
#include "gpu/halo_check.hpp"
#include "gpu/solver_gpu.hpp"
#include "gpu/transport.hpp"
#include "io/agree.hpp"
#endif

namespace mhd {

#if MHD_HAVE_CUDA
namespace {

const char* name_of(TransportChoice transport) {
  return transport == TransportChoice::cuda_aware ? "cuda_aware"
         : transport == TransportChoice::peer     ? "peer"
         : transport == TransportChoice::mixed    ? "mixed"
                                                  : "host_staged";
}

std::array<bool, 3> axes(const BenchHaloOptions& options) {
  std::array<bool, 3> exchanged{};
  for (const char axis : options.axes) exchanged[axis - 'x'] = true;
  return exchanged;
}

std::vector<TransportChoice> transports(const BenchHaloOptions& options, const Comm& comm) {
  if (options.transport && *options.transport != TransportChoice::automatic) return {*options.transport};
  std::vector<TransportChoice> all = {TransportChoice::host_staged};
  if (Nodes(comm).count() < comm.size() || comm.size() == 1) all.push_back(TransportChoice::peer);
  if (comm.minimum(std::int64_t{gpu::cuda_support_of_mpi()}) == 1)
    all.insert(all.end(), {TransportChoice::cuda_aware, TransportChoice::mixed});
  return all;
}

/// Seconds of the slowest rank per call; the device is idle before and after.
template <class Action>
double seconds_each(GpuSolver& solver, std::int64_t count, const Comm& comm, const Action& action) {
  for (std::int64_t i = 0; i < std::max<std::int64_t>(1, count / 10); ++i) action();
  solver.synchronize();
  comm.barrier();
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < count; ++i) action();
  solver.synchronize();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return comm.maximum(taken.count()) / static_cast<double>(count);
}

void initialise(GpuSolver& solver, const Config& config, const Decomposition& decomposition, const Comm& comm) {
  for_each_initial_field(config, decomposition.box(comm.rank()), comm,
                         [&](int slot, std::span<const double> values) { solver.set_field(slot, values); });
}

/// Seconds per exchange and per step.
struct Times {
  double exchange = 0, step = 0;
  std::int64_t bytes = 0;  ///< sent by this rank in one exchange
};

Times measure(const Config& config, const Decomposition& decomposition, const Comm& comm, std::int64_t steps,
              GpuOptions options) {
  GpuSolver solver(config, decomposition, comm, options);
  initialise(solver, config, decomposition, comm);
  Times t;
  t.bytes = solver.bytes_sent();
  t.step = seconds_each(solver, steps, comm, [&] { solver.step(benchmark_dt); });
  if (options.exchange) t.exchange = seconds_each(solver, 3 * steps, comm, [&] { solver.exchange_halos(); });
  return t;
}

std::string table(Config config, const Decomposition& decomposition, const BenchHaloOptions& options,
                  const Comm& comm) {
  config.run.transport = TransportChoice::host_staged;
  const double compute =
      measure(config, decomposition, comm, options.steps, {.overlap = false, .exchange = false}).step;
  std::string text = fmt::format(
      "  a step without exchange takes {:.4g} ms; all times of the slowest rank\n"
      "  {:<12} {:<8} {:>11} {:>8} {:>12} {:>14} {:>9} {:>9}\n",
      1e3 * compute, "transport", "corners", "exchange us", "GB/s", "step ms", "no overlap ms", "exposed", "hidden");
  for (const TransportChoice transport : transports(options, comm))
    for (const bool corners : {false, true}) {
      config.run.transport = transport;
      config.run.exchange_corners = corners;
      const Times with = measure(config, decomposition, comm, options.steps, {});
      const Times after = measure(config, decomposition, comm, options.steps, {.overlap = false});
      const double exposed = with.step - compute;
      text += fmt::format("  {:<12} {:<8} {:>11.1f} {:>8.2f} {:>12.4g} {:>14.4g} {:>7.1f} % {:>7.1f} %\n",
                          name_of(transport), corners ? "sent" : "no", 1e6 * with.exchange,
                          1e-9 * static_cast<double>(with.bytes) / with.exchange, 1e3 * with.step, 1e3 * after.step,
                          100 * exposed / compute, 100 * (1 - exposed / (3 * with.exchange)));
    }
  return text +
         "  exchange: alone; GB/s: sent by rank 0; exposed: step beyond the one without exchange; hidden: of the "
         "three\n"
         "  exchanges of a step, the part that the step is not longer by\n";
}

/// The stages of one step of rank 0, each a line with a bar.
std::string timeline(Config config, const Decomposition& decomposition, const BenchHaloOptions& options,
                     const Comm& comm) {
  std::string text;
  for (const TransportChoice transport : transports(options, comm)) {
    config.run.transport = transport;
    GpuSolver solver(config, decomposition, comm, {});
    initialise(solver, config, decomposition, comm);
    for (std::int64_t i = 0; i < options.steps; ++i) solver.step(benchmark_dt);
    solver.timed_step(benchmark_dt);  // events are made
    comm.barrier();
    const std::vector<TimelineEntry> stages = solver.timed_step(benchmark_dt);
    double end = 0;
    for (const TimelineEntry& stage : stages) end = std::max(end, stage.end);
    constexpr int columns = 60;
    const auto column = [&](double seconds) {
      return std::clamp(static_cast<int>(seconds / end * columns), 0, columns - 1);
    };
    text += fmt::format("  {}: {}\n  {}\n  {:>9} {:>9}  {:<6} {}\n", name_of(transport), solver.transport(),
                        solver.overlap(), "begin us", "end us", "", "stage");
    for (const TimelineEntry& stage : stages) {
      const int first = column(stage.begin), last = column(stage.end);
      text += fmt::format("  {:>9.1f} {:>9.1f}  {:<6} {:<16} |{:{}}{}\n", 1e6 * stage.begin, 1e6 * stage.end,
                          stage.on_device ? "device" : "host", stage.name, "", first,
                          std::string(static_cast<std::size_t>(last - first + 1), stage.on_device ? '#' : '.'));
    }
  }
  return text + "  of rank 0; numbers name the neighbour's rank, or the outer segment\n";
}

/// Random decompositions and sizes up to those asked for, every halo value of every round.
std::int64_t verify_halos(const Config& config, const BenchHaloOptions& options, const Comm& comm, std::string& text) {
  constexpr int grids = 10;
  const int rounds = static_cast<int>((options.rounds + grids - 1) / grids);
  std::uint64_t state = 2463534242;  // the same on all ranks
  const auto random = [&](int below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(below));
  };
  std::int64_t wrong = 0;
  for (const TransportChoice transport : transports(options, comm)) {
    std::int64_t values = 0, wrong_here = 0;
    for (int n = 0; n < grids;) {
      GridConfig grid = config.grid;
      for (int axis = 0; axis < 3; ++axis)
        grid.cells[axis] =
            n == 0 ? grid.cells[axis] : grid.order + random(std::max(grid.cells[axis], grid.order * comm.size()));
      if (feasible_rank_counts(Grid(grid), comm.size()).empty() ||
          feasible_rank_counts(Grid(grid), comm.size()).back() != comm.size())
        continue;
      const Decomposition possible(Grid(grid), comm.size(), n == 0 ? grid.decomposition : std::nullopt);
      const Decomposition decomposition = comm.size() == 1 ? possible.exchanging(axes(options)) : possible;
      RunConfig run = config.run;
      run.transport = transport;
      run.exchange_corners = n % 2 == 1;
      const gpu::HaloCheck check = gpu::check_halos(decomposition, comm, config.physics.fields().count(), run, rounds,
                                                    {.stress_seed = n % 3 == 2 ? 5u + n : 0u});
      values += comm.sum(check.values);
      wrong_here += comm.sum(check.wrong);
      ++n;
    }
    text += fmt::format("  {}: {} halo values in {} rounds over {} grids, {} wrong\n", name_of(transport), values,
                        rounds * grids, grids, wrong_here);
    wrong += wrong_here;
  }
  return wrong;
}

}  // namespace

int bench_halo(const BenchHaloOptions& options, const Comm& comm) {
  BenchOptions step;
  step.cells = options.cells;
  step.order = options.order;
  step.physics = options.physics;
  step.decomposition = options.decomposition;
  step.backend = Backend::gpu;
  Config config = benchmark_config(step);
  config.run.oversubscribe = options.oversubscribe;
  const Decomposition possible(Grid(config.grid), comm.size(), config.grid.decomposition);
  const Decomposition decomposition = comm.size() == 1 ? possible.exchanging(axes(options)) : possible;
  const std::string devices = choose_devices(config, comm);
  std::string text =
      fmt::format("bench halo: {} cells, order {}, {}, {} ranks ({}){}\n", to_string(config.grid.cells),
                  config.grid.order, options.physics, comm.size(), to_string(decomposition.subdomains()), devices);
  if (comm.size() == 1)
    text += fmt::format("  one rank, which exchanges with itself along {}: no way between GPUs\n", options.axes);
  std::int64_t wrong = 0;
  if (options.verify)
    wrong = verify_halos(config, options, comm, text);
  else if (options.timeline)
    text += timeline(config, decomposition, options, comm);
  else
    text += table(config, decomposition, options, comm);
  agree(comm, [&] {
    if (comm.root()) print_result(text);
  });
  return static_cast<int>(wrong > 0 ? ExitCode::difference : ExitCode::complete);
}

#else

int bench_halo(const BenchHaloOptions&, const Comm&) {
  throw Error(ExitCode::device, "bench halo needs GPUs, but this mhdsim was built without CUDA",
              ErrorScope::everywhere);
}

#endif

}  // namespace mhd
