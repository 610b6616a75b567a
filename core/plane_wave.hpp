#pragma once
// Sines and cosines of 2 pi n.(x - origin)/L + phase on the cells of a box, from one table per axis. At cell i of N the
// phase along an axis is the fraction n (2 i + 1)/(2 N) of a turn, so it is reduced in integers: the values are exactly
// periodic, have the exact symmetries of sine and cosine, and are a function of the global cell alone.

#include <array>
#include <cstdint>
#include <vector>

#include "core/box.hpp"

namespace mhd {

/// cos + i sin of an angle; the product adds angles.
struct Phasor {
  double cosine = 1, sine = 0;
  friend constexpr Phasor operator*(Phasor a, Phasor b) {
    return {a.cosine * b.cosine - a.sine * b.sine, a.cosine * b.sine + a.sine * b.cosine};
  }
};

/// The phasor of 2 pi numerator/denominator, exact at multiples of a quarter turn. denominator in 1 .. 2^60.
Phasor phasor_of_turn(std::int64_t numerator, std::int64_t denominator);

/// The wave with n wave numbers per box length on the cells of `box`, which are global cells of a grid of `cells`.
class PlaneWave {
 public:
  PlaneWave(Int3 cells, const Box& box, Int3 n, double phase = 0);

  /// Of a global cell in the box.
  Phasor at(int i, int j, int k) const {
    return axes_[0][i - lower_.x] * (axes_[1][j - lower_.y] * axes_[2][k - lower_.z]);
  }

 private:
  Int3 lower_;
  std::array<std::vector<Phasor>, 3> axes_;  ///< the phase is part of the z table
};

}  // namespace mhd
