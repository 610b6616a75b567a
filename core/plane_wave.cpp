#include "core/plane_wave.hpp"

#include <cmath>
#include <numbers>

namespace mhd {

namespace {

std::int64_t positive_remainder(std::int64_t value, std::int64_t modulus) {
  const std::int64_t remainder = value % modulus;
  return remainder < 0 ? remainder + modulus : remainder;
}

}  // namespace

Phasor phasor_of_turn(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t quarters = 4 * positive_remainder(numerator, denominator);
  const std::int64_t quadrant = quarters / denominator;
  const std::int64_t rest = quarters % denominator;  // of a quarter turn, in units of 1/denominator
  // sin and cos are evaluated in the first eighth of a turn only; the others are its mirror images.
  const bool mirrored = 2 * rest > denominator;
  const double angle = 0.5 * std::numbers::pi * static_cast<double>(mirrored ? denominator - rest : rest) /
                       static_cast<double>(denominator);
  double sine = mirrored ? std::cos(angle) : std::sin(angle);
  double cosine = mirrored ? std::sin(angle) : std::cos(angle);
  if (2 * rest == denominator) sine = cosine = 0.5 * std::numbers::sqrt2;  // equal, which sin and cos of pi/4 are not
  switch (quadrant) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

PlaneWave::PlaneWave(Int3 cells, const Box& box, Int3 n, double phase) : lower_(box.lower) {
  const Phasor shift{std::cos(phase), std::sin(phase)};
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t turn = 2 * std::int64_t{cells[axis]};
    const std::int64_t step = positive_remainder(n[axis], turn);  // keeps the product below in range
    for (int i = box.lower[axis]; i < box.upper[axis]; ++i) {
      const Phasor phasor = phasor_of_turn(step * (2 * std::int64_t{i} + 1), turn);
      axes_[axis].push_back(axis == 2 ? phasor * shift : phasor);
    }
  }
}

}  // namespace mhd
