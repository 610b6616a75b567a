#include "app/verify.hpp"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "app/backend.hpp"
#include "app/initialise.hpp"
#include "app/report.hpp"
#include "app/time_step.hpp"
#include "core/error.hpp"
#include "core/model_solution.hpp"
#include "core/schedule.hpp"

namespace mhd {

double error_ulps(double candidate, double model) {
  if (std::bit_cast<std::uint64_t>(candidate) == std::bit_cast<std::uint64_t>(model)) return 0;
  if (!std::isfinite(candidate) || !std::isfinite(model)) return std::numeric_limits<double>::infinity();
  // Zero and subnormal numbers share the spacing of the smallest normal ones.
  const int exponent = std::max(model == 0 ? -1022 : std::ilogb(model), -1022);
  return std::ldexp(std::abs(candidate - model), 52 - exponent);
}

namespace {

/// Largest error of one slot over this rank's cells, in ulps.
double largest_error(const FieldView& view, std::span<const double> model, Int3 cells, const Box& box) {
  double largest = 0;
  for (int k = 0; k < view.cells.z; ++k)
    for (int j = 0; j < view.cells.y; ++j)
      for (int i = 0; i < view.cells.x; ++i) {
        const Int3 cell = box.lower + Int3{i, j, k};
        const std::size_t at = cell.x + std::size_t(cells.x) * (cell.y + std::size_t(cells.y) * cell.z);
        largest = std::max(largest, error_ulps(view.data[i + j * view.stride_y + k * view.stride_z], model[at]));
      }
  return largest;
}

}  // namespace

int verify(const Config& config, const Comm& comm, const VerifyOptions& options) {
  const Grid grid(config.grid);
  const FieldSet fields = config.physics.fields();
  const Decomposition decomposition(grid, comm.size(), config.grid.decomposition);
  const Box box = decomposition.box(comm.rank());
  const ChosenSolver chosen = make_solver(config, decomposition, comm);
  Solver& solver = *chosen.solver;
  ModelSolution model(config);
  for_each_initial_field(config, box, comm,
                         [&](int slot, std::span<const double> values) { solver.set_field(slot, values); });
  for_each_initial_field(config, grid.box(), comm, [&](int slot, std::span<const double> values) {
    std::copy(values.begin(), values.end(), model.field(slot).begin());
  });

  TimeStep time_step(config.time, comm);
  double rate_error = 0, t = 0;
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const std::optional<double> dt = time_step.natural(solver, step, t);
    if (!dt)
      throw Error(ExitCode::numerics, fmt::format("the solution is not finite after step {}", step),
                  ErrorScope::everywhere);
    if (!config.time.dt && step % config.time.courant_interval == 0)
      rate_error = std::max(rate_error, error_ulps(*dt, 1 / model.courant_rate()));
    solver.step(*dt);
    model.step(*dt);
    t += *dt;
  }

  if (comm.minimum(std::int64_t{solver.finite()}) == 0)
    throw Error(
        ExitCode::numerics,
        fmt::format("the solution is not finite after {} steps: nothing can be said about its error", options.steps),
        ErrorScope::everywhere);

  std::vector<double> errors;
  for (int slot = 0; slot < fields.count(); ++slot)
    errors.push_back(largest_error(solver.field(slot), model.field(slot), grid.cells, box));
  errors.push_back(rate_error);
  comm.maximum(errors);
  double worst = 0;
  for (const double e : errors) worst = std::max(worst, e);
  const bool passed = worst <= options.max_ulps;
  if (comm.root()) {
    std::string text =
        fmt::format("verify: {} cells, order {}, {} steps to t = {:.6g}, {} ranks, {}\n", to_string(grid.cells),
                    grid.order, options.steps, t, comm.size(), chosen.description);
    for (int slot = 0; slot < fields.count(); ++slot)
      text += fmt::format("  {:<6} {:>12.6g} ulps\n", name(fields.field(slot)), errors[slot]);
    if (!config.time.dt) text += fmt::format("  {:<6} {:>12.6g} ulps\n", "dt", errors.back());
    text += fmt::format("{}: maximum error {:.6g} ulps, bound {:.6g}\n", passed ? "passed" : "FAILED", worst,
                        options.max_ulps);
    print_result(text);
  }
  return static_cast<int>(passed ? ExitCode::complete : ExitCode::difference);
}

}  // namespace mhd
