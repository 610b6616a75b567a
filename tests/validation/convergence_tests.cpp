// Measured orders of convergence of whole runs, in space and in time.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/initial.hpp"
#include "core/solver_cpu.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

/// The circularly polarised Alfven wave, oblique to all axes, without diffusion: an exact nonlinear solution, moving
/// along k at the Alfven speed.
Config wave_config(int cells, int order) {
  Config c;
  c.grid.cells = {cells, cells, cells};
  c.grid.order = order;
  c.physics.equation_of_state = EquationOfState::isothermal;
  c.physics.external_field = {1.0 / 3, 2.0 / 3, 2.0 / 3};
  c.initial.kind = InitialKind::alfven_wave;
  c.initial.amplitude = 0.1;
  c.initial.wave_vector = {1, 2, 2};
  return c;
}

CpuSolver solver_of(const Config& config, const Comm& comm) {
  const Grid grid(config.grid);
  const Decomposition decomposition(grid, comm.size());
  CpuSolver solver(config, decomposition, comm);
  const Box box = decomposition.box(comm.rank());
  std::vector<double> values(static_cast<std::size_t>(box.volume()));
  for (int slot = 0; slot < config.physics.fields().count(); ++slot) {
    initial_field(config, grid, box, config.physics.fields().field(slot), values);
    solver.set_field(slot, values);
  }
  return solver;
}

std::vector<double> interior(CpuSolver& solver, int slot) {
  const FieldView v = solver.field(slot);
  std::vector<double> values;
  for (int k = 0; k < v.cells.z; ++k)
    for (int j = 0; j < v.cells.y; ++j)
      for (int i = 0; i < v.cells.x; ++i) values.push_back(v.data[i + j * v.stride_y + k * v.stride_z]);
  return values;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// Largest error of A after a short time. The time step error, (omega dt)^3, stays below 1e-12 of the amplitude.
double wave_error(int cells, int order, const Comm& comm) {
  const Config config = wave_config(cells, order);
  constexpr int steps = 8;
  constexpr double time = 2e-3, omega = 3;  // |k| vA
  CpuSolver solver = solver_of(config, comm);
  for (int i = 0; i < steps; ++i) solver.step(time / steps);

  Config exact = config;
  exact.initial.kind = InitialKind::uniform;
  exact.initial.modes = kind_modes(config);
  for (Mode& mode : exact.initial.modes)
    for (WaveFactor& factor : mode.factors) factor.phase -= omega * time;
  const Grid grid(config.grid);
  const Box box = Decomposition(grid, comm.size()).box(comm.rank());
  std::vector<double> values(static_cast<std::size_t>(box.volume()));
  double largest = 0;
  for (const Field field : {Field::ax, Field::ay, Field::az}) {
    initial_field(exact, grid, box, field, values);
    largest = std::max(largest, largest_difference(interior(solver, config.physics.fields().slot(field)), values));
  }
  return comm.maximum(largest);
}

}  // namespace

TEST_CASE("An oblique Alfven wave converges in space at orders 2, 4, 6 and 8") {
  const Comm comm(MPI_COMM_WORLD);
  for (const int order : {2, 4, 6, 8}) {
    constexpr int coarse = 36, fine = 56;
    const double a = wave_error(coarse, order, comm), b = wave_error(fine, order, comm);
    const double measured = std::log(a / b) / std::log(static_cast<double>(fine) / coarse);
    CAPTURE(order, a, b, measured);
    CHECK(std::abs(measured - order) < 0.2);
  }
}

TEST_CASE("Time integration converges at order 3") {
  const Comm comm(MPI_COMM_WORLD);
  Config config = wave_config(16, 6);
  config.physics.equation_of_state = EquationOfState::ideal_gas;
  config.physics.viscosity = config.physics.resistivity = config.physics.conduction = 0.01;
  constexpr double time = 0.4;
  const auto state_after = [&](int steps) {
    CpuSolver solver = solver_of(config, comm);
    for (int i = 0; i < steps; ++i) solver.step(time / steps);
    std::vector<double> all;
    for (int slot = 0; slot < config.physics.fields().count(); ++slot) {
      const std::vector<double> v = interior(solver, slot);
      all.insert(all.end(), v.begin(), v.end());
    }
    return all;
  };
  const auto exact = state_after(320);
  const double a = comm.maximum(largest_difference(state_after(10), exact)),
               b = comm.maximum(largest_difference(state_after(20), exact));
  const double measured = std::log2(a / b);
  CAPTURE(a, b, measured);
  CHECK(std::abs(measured - 3) < 0.2);
}
