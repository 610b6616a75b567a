#include "app/bench_halo.hpp"

#include "app/bench.hpp"
#include "core/error.hpp"
#if MHD_HAVE_CUDA
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "app/backend.hpp"
#include "app/initialise.hpp"
#include "app/report.hpp"
#include "core/statistics.hpp"
#include "gpu/device.hpp"
#include "gpu/halo_check.hpp"
#include "gpu/peers.hpp"
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
                                                  : "host_staged";
}

std::vector<TransportChoice> transports(const BenchHaloOptions& options, const Comm& comm) {
  if (options.transport && *options.transport != TransportChoice::automatic) return {*options.transport};
  std::vector<TransportChoice> all = {TransportChoice::host_staged};
  if (gpu::on_one_host(comm)) all.push_back(TransportChoice::peer);
  if (comm.minimum(std::int64_t{gpu::cuda_support_of_mpi()}) == 1) all.push_back(TransportChoice::cuda_aware);
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

/// Seconds per exchange and per step.
struct Times {
  double exchange = 0, step = 0;
  std::int64_t bytes = 0;  ///< sent by this rank in one exchange
};

Times measure(const Config& config, const Decomposition& decomposition, const Comm& comm, std::int64_t steps,
              GpuOptions options) {
  GpuSolver solver(config, decomposition, comm, options);
  for_each_initial_field(config, decomposition.box(comm.rank()), comm,
                         [&](int slot, std::span<const double> values) { solver.set_field(slot, values); });
  Times t;
  t.bytes = solver.bytes_sent();
  t.step = seconds_each(solver, steps, comm, [&] { solver.step(benchmark_dt); });
  if (options.exchange) t.exchange = seconds_each(solver, 3 * steps, comm, [&] { solver.exchange_halos(); });
  return t;
}

std::string table(Config config, const Decomposition& decomposition, const BenchHaloOptions& options,
                  const Comm& comm) {
  config.run.transport = TransportChoice::host_staged;
  const double compute = measure(config, decomposition, comm, options.steps, {.exchange = false}).step;
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
        grid.cells[axis] = n == 0 ? grid.cells[axis] : 1 + random(std::max(grid.cells[axis], grid.order * comm.size()));
      if (feasible_rank_counts(Grid(grid), comm.size()).empty() ||
          feasible_rank_counts(Grid(grid), comm.size()).back() != comm.size())
        continue;
      const Decomposition decomposition(Grid(grid), comm.size(), n == 0 ? grid.decomposition : std::nullopt);
      const gpu::HaloCheck check = gpu::check_halos(decomposition, comm, config.physics.fields().count(), n % 2 == 1,
                                                    transport, rounds, n % 3 == 2 ? 5 + n : 0);
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
  if (comm.size() == 1)
    throw Error(ExitCode::usage, "bench halo: one rank has no halos to exchange; start it by mpiexec with several",
                ErrorScope::everywhere);
  const Decomposition decomposition(Grid(config.grid), comm.size(), config.grid.decomposition);
  const std::string devices = choose_devices(config, comm);
  std::string text =
      fmt::format("bench halo: {} cells, order {}, {}, {} ranks ({}){}\n", to_string(config.grid.cells),
                  config.grid.order, options.physics, comm.size(), to_string(decomposition.subdomains()), devices);
  std::int64_t wrong = 0;
  if (options.verify)
    wrong = verify_halos(config, options, comm, text);
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
