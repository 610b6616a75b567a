#pragma once
// The model solution that the solvers are verified against: global arrays without halos, periodic neighbours by
// modulo, plain loops over cells, one rank, no SIMD. Slow and obvious. It calls the same algebra per cell, so that a
// solver equals it bit for bit or is wrong.

#include <array>
#include <span>
#include <vector>

#include "core/coefficients.hpp"
#include "core/config.hpp"
#include "core/grid.hpp"

namespace mhd {

class ModelSolution {
 public:
  explicit ModelSolution(const Config& config);

  /// Values [z][y][x] of the whole grid.
  std::span<double> field(int slot) { return fields_now_[slot]; }
  std::span<const double> field(int slot) const { return fields_now_[slot]; }
  void step(double dt);
  /// 1/dt of the Courant condition.
  double courant_rate() const;

 private:
  Grid grid_;
  FieldSet set_;
  Coefficients coefficients_;
  std::array<std::vector<double>, max_fields> fields_now_, fields_before_;
};

}  // namespace mhd
