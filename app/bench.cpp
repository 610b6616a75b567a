#include "app/bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "app/backend.hpp"
#include "app/initialise.hpp"
#include "app/report.hpp"
#include "app/version.hpp"
#include "core/error.hpp"
#include "core/operation_count.hpp"
#include "core/statistics.hpp"
#include "io/agree.hpp"
#include "io/file.hpp"
#if MHD_HAVE_CUDA
#include "gpu/ceilings.hpp"
#include "gpu/device.hpp"
#include "gpu/power.hpp"
#endif

namespace mhd {

Config benchmark_config(const BenchOptions& o) {
  Config c;
  c.grid.cells = o.cells;
  // The spacing is that of 64 cells in a box of 2 pi, whatever the number of cells: in a box of fixed size the noise
  // heats the gas with the fourth power of that number until fine grids overflow.
  for (int axis = 0; axis < 3; ++axis) c.grid.size[axis] = o.cells[axis] * (2 * std::numbers::pi / 64);
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

namespace {

/// Wall-clock seconds of the timed steps: each step, and all of them.
struct Measurement {
  std::vector<double> steps;  ///< of the slowest rank in each step
  double total = 0;
  StepTiming mean;  ///< of the slowest rank
};

/// A backend that runs ahead is not held up: its own clock (events on the device) times the steps. Otherwise, and where
/// the Courant condition is part of the step, the host's clock does.
Measurement measure(Solver& solver, std::int64_t steps, bool courant, const Comm& comm) {
  using Clock = std::chrono::steady_clock;
  Measurement m;
  const int ahead = courant ? 0 : solver.steps_ahead();
  const auto take = [&](int back, double host_seconds) {
    const StepTiming t = solver.timing(back);
    m.steps.push_back(ahead > 0 ? t.compute + t.exchange + t.wait : host_seconds);
    m.mean.compute += t.compute;
    m.mean.exchange += t.exchange;
    m.mean.wait += t.wait;
  };
  const auto started = Clock::now();
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto start = Clock::now();
    if (courant) comm.maximum(solver.courant_rate());
    solver.step(benchmark_dt);
    if (ahead == 0) solver.timing();  // waits
    if (i >= ahead) take(ahead, std::chrono::duration<double>(Clock::now() - start).count());
  }
  for (int back = static_cast<int>(std::min<std::int64_t>(ahead, steps)) - 1; back >= 0; --back) take(back, 0);
  m.total = comm.maximum(std::chrono::duration<double>(Clock::now() - started).count());
  comm.maximum(m.steps);
  double parts[] = {m.mean.compute, m.mean.exchange, m.mean.wait};
  comm.maximum(parts);
  const auto n = static_cast<double>(steps);
  m.mean = {parts[0] / n, parts[1] / n, parts[2] / n};
  return m;
}

/// What the device could do, and what the steps made of it; text for the terminal and members for the JSON file.
struct DeviceComparison {
  std::string text, json;
};

#if MHD_HAVE_CUDA

/// Joules that the devices of all ranks used between construction and `stop`.
class Energy {
 public:
  explicit Energy(const Comm& comm) : comm_(comm), meter_(gpu::current_device().pci), start_(meter_.joules()) {}

  /// Nothing where a driver does not report it.
  std::optional<double> stop() const {
    const std::optional<double> now = meter_.joules();
    if (comm_.minimum(std::int64_t{now && start_}) == 0) return std::nullopt;
    return 1e-3 * static_cast<double>(comm_.sum(static_cast<std::int64_t>(1e3 * (*now - *start_))));
  }

 private:
  const Comm& comm_;
  gpu::EnergyMeter meter_;
  std::optional<double> start_;
};

DeviceComparison compare_with_device(const Config& config, const Comm& comm, const Measurement& m,
                                     std::optional<double> joules, double steps) {
  const gpu::Ceilings one = gpu::measure_ceilings();
  const double devices = comm.size();
  const auto cells = static_cast<double>(config.grid.cells.product());
  const FieldSet fields = config.physics.fields();
  const double rate = cells / median(m.steps);
  const double bytes = rate * static_cast<double>(bytes_per_step(fields));
  const double flops = rate * static_cast<double>(flops_per_step(config.grid.order / 2, fields));
  DeviceComparison c;
  c.text = fmt::format(
      "  memory {:.4g} TB/s of {:.4g} that a copy kernel reaches ({:.0f} %), at the least traffic of {} bytes per "
      "cell\n"
      "  FP64 {:.4g} TFLOP/s of {:.4g} that an FMA kernel reaches ({:.0f} %), {} operations per cell\n",
      bytes * 1e-12, one.bytes_per_second * devices * 1e-12, 100 * bytes / (one.bytes_per_second * devices),
      bytes_per_step(fields), flops * 1e-12, one.flops * devices * 1e-12, 100 * flops / (one.flops * devices),
      flops_per_step(config.grid.order / 2, fields));
  c.json = fmt::format(
      "  \"bytes_per_second\": {},\n  \"copy_bytes_per_second\": {},\n  \"flops\": {},\n  \"fma_flops\": {},\n", bytes,
      one.bytes_per_second * devices, flops, one.flops * devices);
  // The driver's counter moves every few tens of milliseconds: short measurements say nothing.
  if (joules && m.total > 0.5) {
    const double nanojoules = *joules * 1e9 / (cells * steps);
    c.text += fmt::format("  energy {:.4g} nJ per cell and step ({:.4g} W)\n", nanojoules, *joules / m.total);
    c.json += fmt::format("  \"nanojoules_per_cell_step\": {},\n  \"watts\": {},\n", nanojoules, *joules / m.total);
  }
  return c;
}

#endif

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
  if (warmup > 0) solver.timing();
  comm.barrier();
#if MHD_HAVE_CUDA
  std::optional<Energy> energy;
  if (gpu) energy.emplace(comm);
#endif
  const Measurement m = measure(solver, steps, options.courant, comm);
  DeviceComparison device;
#if MHD_HAVE_CUDA
  if (gpu) device = compare_with_device(config, comm, m, energy->stop(), static_cast<double>(steps));
#endif
  if (comm.minimum(std::int64_t{solver.finite()}) == 0)
    throw Error(ExitCode::numerics, "the benchmark state is no longer finite", ErrorScope::everywhere);

  const double ns = 1e9 / cells, seconds = median(m.steps);
  const double p10 = percentile(m.steps, 0.1), p90 = percentile(m.steps, 0.9), least = percentile(m.steps, 0);
  agree(comm, [&] {
    if (!comm.root()) return;
    print_result(
        fmt::format("bench step: {} cells, order {}, {}, {} ranks ({}), {}\n"
                    "  {} warm-up and {} timed steps, dt = {}{}\n"
                    "  median {:.4g} ns per cell and step ({:.4g} ms per step, {:.4g} cell updates/s)\n"
                    "  10th percentile {:.4g}, 90th {:.4g}, minimum {:.4g} ns; mean of the whole loop {:.4g} ns\n"
                    "  of which compute {:.4g}, exchange {:.4g}, wait {:.4g} ns (means, slowest rank)\n{}",
                    to_string(config.grid.cells), config.grid.order, options.physics, comm.size(),
                    to_string(decomposition.subdomains()), chosen.description, warmup, steps, benchmark_dt,
                    options.courant ? ", with the Courant condition each step" : "", seconds * ns, seconds * 1e3,
                    cells / seconds, p10 * ns, p90 * ns, least * ns, m.total * ns / static_cast<double>(steps),
                    m.mean.compute * ns, m.mean.exchange * ns, m.mean.wait * ns, device.text));
    if (options.json.empty()) return;
    const BuildInfo build = build_info();
    write_file_atomically(
        options.json,
        fmt::format("{{\n  \"benchmark\": \"step\",\n  \"cells\": [{}, {}, {}],\n  \"order\": {},\n"
                    "  \"physics\": \"{}\",\n  \"ranks\": {},\n  \"subdomains\": [{}, {}, {}],\n"
                    "  \"backend\": \"{}\",\n  \"device\": \"{}\",\n  \"courant\": {},\n  \"warmup_steps\": {},\n"
                    "  \"steps\": {},\n  \"seconds_median\": {},\n  \"ns_per_cell_step_median\": {},\n"
                    "  \"ns_per_cell_step_p10\": {},\n  \"ns_per_cell_step_p90\": {},\n{}  \"version\": \"{}\",\n"
                    "  \"revision\": \"{}\"\n}}\n",
                    config.grid.cells.x, config.grid.cells.y, config.grid.cells.z, config.grid.order, options.physics,
                    comm.size(), decomposition.subdomains().x, decomposition.subdomains().y,
                    decomposition.subdomains().z, chosen.backend, chosen.description, options.courant, warmup, steps,
                    seconds, seconds * ns, p10 * ns, p90 * ns, device.json, build.version, build.revision));
  });
  return static_cast<int>(ExitCode::complete);
}

}  // namespace mhd
