#include "app/bench.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "app/backend.hpp"
#include "app/initialise.hpp"
#include "app/report.hpp"
#include "app/version.hpp"
#include "core/error.hpp"
#include "core/statistics.hpp"
#include "io/agree.hpp"
#include "io/file.hpp"

namespace mhd {
namespace {

constexpr double benchmark_dt = 1.19209e-7;  // of the paper: small enough that random fields stay finite

Config benchmark_config(const BenchOptions& o) {
  Config c;
  c.grid.cells = o.cells;
  c.grid.order = o.order;
  c.grid.decomposition = o.decomposition;
  c.time.dt = benchmark_dt;
  c.time.max_steps = 1;
  c.run.backend = o.backend.value_or(Backend::automatic);
  c.initial.kind = InitialKind::random;
  PhysicsConfig& p = c.physics;
  p.magnetic = o.physics == "full" || o.physics == "isothermal";
  p.equation_of_state =
      o.physics == "full" || o.physics == "entropy-hydro" ? EquationOfState::ideal_gas : EquationOfState::isothermal;
  p.viscosity = 5e-3;
  p.bulk_viscosity = 1e-3;
  if (p.magnetic) p.resistivity = 5e-3;
  if (p.equation_of_state == EquationOfState::ideal_gas) p.conduction = 5e-3;
  return c;
}

struct Timings {
  double median, p10, p90, minimum;  ///< seconds per step, of the slowest rank in each step
};

Timings statistics_of(const std::vector<double>& seconds) {
  return {median(seconds), percentile(seconds, 0.1), percentile(seconds, 0.9), percentile(seconds, 0)};
}

}  // namespace

int bench_step(const BenchOptions& options, const Comm& comm) {
  const Config config = benchmark_config(options);
  const std::vector<Violation> wrong = validate(config);
  if (!wrong.empty())
    throw Error(ExitCode::usage, fmt::format("bench step: {}: {}", wrong[0].key, wrong[0].message),
                ErrorScope::everywhere);
  const Decomposition decomposition(Grid(config.grid), comm.size(), config.grid.decomposition);
  const ChosenSolver chosen = make_solver(config, decomposition, comm);
  Solver& solver = *chosen.solver;
  for_each_initial_field(config, decomposition.box(comm.rank()), comm,
                         [&](int slot, std::span<const double> values) { solver.set_field(slot, values); });
  const bool gpu = chosen.backend == "gpu";
  const auto cells = static_cast<double>(config.grid.cells.product());
  const std::int64_t warmup = options.warmup.value_or(gpu ? 100 : 3);
  const std::int64_t steps = options.steps.value_or(gpu ? (cells < 512.0 * 512 * 512 ? 1000 : 100) : 20);

  for (std::int64_t i = 0; i < warmup; ++i) solver.step(benchmark_dt);
  comm.barrier();
  std::vector<double> seconds, parts(3, 0.0);
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (options.courant) comm.maximum(solver.courant_rate());
    solver.step(benchmark_dt);
    const StepTiming t = solver.timing();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    parts[0] += t.compute;
    parts[1] += t.exchange;
    parts[2] += t.wait;
  }
  comm.maximum(seconds);
  comm.maximum(parts);
  if (comm.minimum(std::int64_t{solver.finite()}) == 0)
    throw Error(ExitCode::numerics, "the benchmark state is no longer finite", ErrorScope::everywhere);

  const Timings t = statistics_of(seconds);
  const double ns = 1e9 / cells;
  for (double& p : parts) p *= ns / static_cast<double>(steps);
  agree(comm, [&] {
    if (!comm.root()) return;
    print_result(
        fmt::format("bench step: {} cells, order {}, {}, {} ranks ({}), {}\n"
                    "  {} warm-up and {} timed steps, dt = {}{}\n"
                    "  median {:.4g} ns per cell and step ({:.4g} ms per step, {:.4g} cell updates/s)\n"
                    "  10th percentile {:.4g}, 90th {:.4g}, minimum {:.4g} ns\n"
                    "  of which compute {:.4g}, exchange {:.4g}, wait {:.4g} ns (means, slowest rank)\n",
                    to_string(config.grid.cells), config.grid.order, options.physics, comm.size(),
                    to_string(decomposition.subdomains()), chosen.description, warmup, steps, benchmark_dt,
                    options.courant ? ", with the Courant condition each step" : "", t.median * ns, t.median * 1e3,
                    cells / t.median, t.p10 * ns, t.p90 * ns, t.minimum * ns, parts[0], parts[1], parts[2]));
    if (options.json.empty()) return;
    const BuildInfo build = build_info();
    write_file_atomically(
        options.json,
        fmt::format("{{\n  \"benchmark\": \"step\",\n  \"cells\": [{}, {}, {}],\n  \"order\": {},\n"
                    "  \"physics\": \"{}\",\n  \"ranks\": {},\n  \"subdomains\": [{}, {}, {}],\n"
                    "  \"backend\": \"{}\",\n  \"device\": \"{}\",\n  \"courant\": {},\n  \"warmup_steps\": {},\n"
                    "  \"steps\": {},\n  \"seconds_median\": {},\n  \"ns_per_cell_step_median\": {},\n"
                    "  \"ns_per_cell_step_p10\": {},\n  \"ns_per_cell_step_p90\": {},\n  \"version\": \"{}\",\n"
                    "  \"revision\": \"{}\"\n}}\n",
                    config.grid.cells.x, config.grid.cells.y, config.grid.cells.z, config.grid.order, options.physics,
                    comm.size(), decomposition.subdomains().x, decomposition.subdomains().y,
                    decomposition.subdomains().z, chosen.backend, chosen.description, options.courant, warmup, steps,
                    t.median, t.median * ns, t.p10 * ns, t.p90 * ns, build.version, build.revision));
  });
  return static_cast<int>(ExitCode::complete);
}

}  // namespace mhd
