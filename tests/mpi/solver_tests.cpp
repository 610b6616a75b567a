// The CPU solver equals the model solution bit for bit, on any number of ranks, and its series do not depend on them.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/initial.hpp"
#include "core/model_solution.hpp"
#include "core/solver_cpu.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

/// A set-up in which every term acts; `variant` switches the kinds of viscosity and conduction.
Config rough_config(Int3 cells, int order, FieldSet fields, int variant) {
  Config c;
  c.grid.cells = cells;
  c.grid.order = order;
  c.grid.size = {1.0, 1.3, 0.8};
  c.physics.magnetic = fields.magnetic;
  c.physics.equation_of_state = fields.entropy ? EquationOfState::ideal_gas : EquationOfState::isothermal;
  c.physics.viscosity_kind = variant % 2 ? ViscosityKind::rho_nu_const : ViscosityKind::nu_const;
  c.physics.viscosity = 5e-3;
  c.physics.bulk_viscosity = 2e-3;
  c.physics.resistivity = 4e-3;
  c.physics.conduction_kind = variant % 2 ? ConductionKind::chi_const : ConductionKind::k_const;
  c.physics.conduction = 3e-3;
  c.physics.mu0 = 1.7;
  c.physics.cp = 1.2;
  c.physics.external_field = {0.1, -0.2, 0.3};
  c.initial.kind = InitialKind::random;
  c.initial.low = -0.02;
  c.initial.high = 0.03;
  return c;
}

template <class Target>
void initialise(const Config& config, const Box& box, const Target& set) {
  std::vector<double> values(static_cast<std::size_t>(box.volume()));
  for (int slot = 0; slot < config.physics.fields().count(); ++slot) {
    initial_field(config, Grid(config.grid), box, config.physics.fields().field(slot), values);
    set(slot, values);
  }
}

/// Cells of this rank's fields whose bits differ from the model.
std::int64_t differing_cells(CpuSolver& solver, const ModelSolution& model, const Config& config, const Box& box) {
  std::int64_t count = 0;
  for (int slot = 0; slot < config.physics.fields().count(); ++slot) {
    const FieldView v = solver.field(slot);
    for (int k = 0; k < v.cells.z; ++k)
      for (int j = 0; j < v.cells.y; ++j)
        for (int i = 0; i < v.cells.x; ++i) {
          const Int3 c = box.lower + Int3{i, j, k};
          const std::size_t at =
              c.x + std::size_t(config.grid.cells.x) * (c.y + std::size_t(config.grid.cells.y) * c.z);
          count += bits(v.data[i + j * v.stride_y + k * v.stride_z]) != bits(model.field(slot)[at]);
        }
  }
  return count;
}

/// `axes`: along which ranks that hold an axis alone exchange with themselves.
void check_against_model(const Config& config, int steps, const std::array<bool, 3>& axes = {}) {
  const Comm comm(MPI_COMM_WORLD);
  const Grid grid(config.grid);
  const auto feasible = feasible_rank_counts(grid, comm.size());
  if (std::find(feasible.begin(), feasible.end(), comm.size()) == feasible.end()) return;
  const Decomposition decomposition = Decomposition(grid, comm.size(), config.grid.decomposition).exchanging(axes);
  const Box box = decomposition.box(comm.rank());
  CpuSolver solver(config, decomposition, comm);
  CpuSolver alone(config, Decomposition(grid, 1), Comm());
  ModelSolution model(config);
  initialise(config, box, [&](int slot, std::span<const double> v) { solver.set_field(slot, v); });
  initialise(config, grid.box(), [&](int slot, std::span<const double> v) {
    alone.set_field(slot, v);
    std::copy(v.begin(), v.end(), model.field(slot).begin());
  });
  CAPTURE(to_string(grid.cells), grid.order, comm.size(), config.physics.magnetic, config.physics.fields().entropy);
  for (int step = 0; step < steps; ++step) {
    const double rate = comm.maximum(solver.courant_rate());
    REQUIRE(std::isfinite(rate));
    REQUIRE(bits(rate) == bits(model.courant_rate()));
    const double dt = 0.5 / rate;
    solver.step(dt);
    alone.step(dt);
    model.step(dt);
    REQUIRE(solver.finite());
  }
  REQUIRE(differing_cells(solver, model, config, box) == 0);

  DiagnosticSums here = solver.diagnostics(), single = alone.diagnostics();
  here.reduce(comm);
  const FieldSet fields = config.physics.fields();
  const auto a = diagnostic_values(fields, here, grid.cells.product());
  const auto b = diagnostic_values(fields, single, grid.cells.product());
  const auto names = diagnostic_columns(fields);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(names[i], a[i], b[i]);
    REQUIRE(bits(a[i]) == bits(b[i]));
  }
}

}  // namespace

TEST_CASE("The solver equals the model bit for bit, for every order and set of fields") {
  int variant = 0;
  for (const int order : {2, 4, 6, 8})
    for (const bool magnetic : {true, false})
      for (const bool entropy : {true, false})
        check_against_model(rough_config({18, 17, 16}, order, {magnetic, entropy}, variant++), 2);
}

TEST_CASE("The solver equals the model on extreme and inactive grids") {
  for (const Int3 cells : {Int3{50, 1, 1},
                           {1, 50, 1},
                           {1, 1, 50},
                           {1, 20, 17},
                           {33, 1, 16},
                           {19, 24, 1},
                           {2, 3, 40},
                           {40, 2, 1},
                           {5, 5, 5}})
    check_against_model(rough_config(cells, 6, {true, true}, 1), 3);
}

TEST_CASE("The solver equals the model for every forced decomposition of these ranks") {
  const int ranks = Comm(MPI_COMM_WORLD).size();
  for (int x = 1; x <= ranks; ++x)
    for (int y = 1; x * y <= ranks; ++y) {
      if (ranks % (x * y) != 0) continue;
      Config config = rough_config({27, 25, 26}, 6, {true, true}, 0);
      config.grid.decomposition = Int3{x, y, ranks / (x * y)};
      check_against_model(config, 1);
    }
}

TEST_CASE("The solver equals the model where ranks exchange with themselves") {
  for (const bool corners : {false, true})
    for (const std::array<bool, 3>& axes : {std::array{true, true, true}, {true, false, false}, {false, true, true}}) {
      Config config = rough_config({16, 17, 19}, 6, {true, true}, 0);
      config.run.exchange_corners = corners;
      check_against_model(config, 2, axes);
    }
}

TEST_CASE("A non-finite value is noticed on the rank that holds it") {
  const Comm comm(MPI_COMM_WORLD);
  const Config config = rough_config({16, 16, 32}, 2, {true, true}, 0);
  const Decomposition decomposition(Grid(config.grid), comm.size());
  const Box box = decomposition.box(comm.rank());
  CpuSolver solver(config, decomposition, comm);
  initialise(config, box, [&](int slot, std::span<const double> v) {
    std::vector<double> values(v.begin(), v.end());
    if (slot == 7 && box.contains({3, 4, 5})) {
      const Int3 at = Int3{3, 4, 5} - box.lower, n = box.size();
      values[at.x + std::size_t(n.x) * (at.y + std::size_t(n.y) * at.z)] = std::nan("");
    }
    solver.set_field(slot, values);
  });
  solver.step(1e-6);
  const bool finite_everywhere = comm.minimum(std::int64_t{solver.finite()}) != 0;
  REQUIRE_FALSE(finite_everywhere);
  CHECK(solver.finite());  // asking resets
  DiagnosticSums sums = solver.diagnostics();
  sums.reduce(comm);
  CHECK(sums.nonfinite > 0);
}

TEST_CASE("Extremes of a field of both zeros do not depend on which zero comes first") {
  const Comm comm(MPI_COMM_WORLD);
  Config config = rough_config({16, 16, 32}, 6, {true, true}, 0);
  const Decomposition decomposition(Grid(config.grid), comm.size());
  const Box box = decomposition.box(comm.rank());
  for (const int parity : {0, 1}) {
    CpuSolver solver(config, decomposition, comm);
    initialise(config, box, [&](int slot, std::span<const double> v) {
      std::vector<double> values(v.begin(), v.end());
      if (config.physics.fields().field(slot) == Field::ss)
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == std::size_t(parity) ? 0.0 : -0.0;
      solver.set_field(slot, values);
    });
    DiagnosticSums sums = solver.diagnostics();
    sums.reduce(comm);
    const FieldSet fields = config.physics.fields();
    const auto names = diagnostic_columns(fields);
    const auto values = diagnostic_values(fields, sums, config.grid.cells.product());
    for (const char* column : {"ssmin", "ssmax"}) {
      const auto at = std::find(names.begin(), names.end(), column) - names.begin();
      CHECK(bits(values[static_cast<std::size_t>(at)]) == bits(0.0));
    }
  }
}
