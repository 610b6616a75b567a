#include "core/model_solution.hpp"

#include <cmath>
#include <utility>

#include "core/courant.hpp"
#include "core/mhd.hpp"
#include "core/runge_kutta.hpp"

namespace mhd {
namespace {

int wrapped(int i, int n) { return ((i % n) + n) % n; }

/// Reads one field around one cell of the periodic grid.
struct Around {
  const std::vector<double>& values;
  Int3 cells;
  Int3 cell;
  double operator()(int i, int j, int k) const {
    const std::size_t x = wrapped(cell.x + i, cells.x), y = wrapped(cell.y + j, cells.y),
                      z = wrapped(cell.z + k, cells.z);
    return values[x + cells.x * (y + cells.y * z)];
  }
};

/// Calls f with the stencil radius, the presence of magnetism and that of entropy as compile-time constants.
template <class F>
void with_constants(int radius, FieldSet set, const F& f) {
  const auto with_fields = [&]<int R>() {
    if (set.magnetic)
      set.entropy ? f.template operator()<R, true, true>() : f.template operator()<R, true, false>();
    else
      set.entropy ? f.template operator()<R, false, true>() : f.template operator()<R, false, false>();
  };
  switch (radius) {
    case 1:
      return with_fields.template operator()<1>();
    case 2:
      return with_fields.template operator()<2>();
    case 3:
      return with_fields.template operator()<3>();
    default:
      return with_fields.template operator()<4>();
  }
}

template <class F>
void for_each_cell(Int3 cells, const F& f) {
  for (int z = 0; z < cells.z; ++z)
    for (int y = 0; y < cells.y; ++y)
      for (int x = 0; x < cells.x; ++x) f(Int3{x, y, z});
}

}  // namespace

ModelSolution::ModelSolution(const Config& config)
    : grid_(config.grid), set_(config.physics.fields()), coefficients_(coefficients(config)) {
  for (int slot = 0; slot < set_.count(); ++slot) {
    fields_now_[slot].resize(grid_.cells.product());
    fields_before_[slot].resize(grid_.cells.product());
  }
}

void ModelSolution::step(double dt) {
  for (int substep = 0; substep < substeps; ++substep) {
    const SubstepCoefficients rk = substep_coefficients(substep, dt);
    with_constants(grid_.radius(), set_, [&]<int R, bool Magnetic, bool Entropy>() {
      for_each_cell(grid_.cells, [&](Int3 cell) {
        const auto around = [&](int slot) { return Around{fields_now_[slot], grid_.cells, cell}; };
        const StencilCoefficients& c = coefficients_.stencil;
        const auto lnrho = scalar_derivatives<R, double>(c, around(0));
        const auto u = vector_derivatives<R, double>(c, around(1), around(2), around(3));
        VectorDerivatives<double> a{};
        ScalarDerivatives<double> ss{};
        if constexpr (Magnetic) a = vector_derivatives<R, double>(c, around(4), around(5), around(6));
        if constexpr (Entropy) ss = scalar_derivatives<R, double>(c, around(set_.slot(Field::ss)));
        const Rates<double> rate = right_hand_side<Magnetic, Entropy>(coefficients_.physics, lnrho, u, a, ss);

        const std::size_t at = cell.x + std::size_t(grid_.cells.x) * (cell.y + std::size_t(grid_.cells.y) * cell.z);
        const auto update = [&](int slot, double change) {
          const double value = fields_now_[slot][at];
          double& target = fields_before_[slot][at];
          target = substep == 0 ? advance<true>(rk, value, value, change) : advance<false>(rk, value, target, change);
        };
        update(0, rate.lnrho);
        for (int i = 0; i < 3; ++i) update(1 + i, rate.u[i]);
        if constexpr (Magnetic)
          for (int i = 0; i < 3; ++i) update(4 + i, rate.a[i]);
        if constexpr (Entropy) update(set_.slot(Field::ss), rate.ss);
      });
    });
    std::swap(fields_now_, fields_before_);
  }
}

double ModelSolution::courant_rate() const {
  double largest = 0;
  with_constants(grid_.radius(), set_, [&]<int R, bool Magnetic, bool Entropy>() {
    for_each_cell(grid_.cells, [&](Int3 cell) {
      const auto around = [&](int slot) { return Around{fields_now_[slot], grid_.cells, cell}; };
      double u[3], b[3] = {}, ss = 0;
      for (int i = 0; i < 3; ++i) u[i] = around(1 + i)(0, 0, 0);
      if constexpr (Magnetic) {
        double g[3][3];
        for (int i = 0; i < 3; ++i) gradient<R>(coefficients_.stencil, around(4 + i), g[i]);
        curl(g, b);
        for (int i = 0; i < 3; ++i) b[i] = b[i] + coefficients_.physics.external_field[i];
      }
      if constexpr (Entropy) ss = around(set_.slot(Field::ss))(0, 0, 0);
      largest = larger(largest, courant_rate2<Magnetic, Entropy>(coefficients_.physics, coefficients_.courant,
                                                                 around(0)(0, 0, 0), ss, u, b));
    });
  });
  return std::sqrt(largest);
}

}  // namespace mhd
