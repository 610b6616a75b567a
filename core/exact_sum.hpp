#pragma once
// An exact, hence order-independent, sum of doubles: every value is split at fixed binary positions into parts whose
// sums are exact in double arithmetic, and these are added to integer limbs (after Demmel & Nguyen 2013, "Fast
// reproducible floating-point summation", with fixed instead of running bins).

#include <array>
#include <cstdint>
#include <span>

namespace mhd {

class ExactSum {
 public:
  /// Bits per limb; limb w counts units of 2^(top - bits w).
  static constexpr int limb_bits = 40;
  static constexpr int limbs = 18;
  /// Unit of limb 0 is 2^top_exponent: magnitudes up to 2^(top_exponent + limb_bits) = 2^340 are exact; what lies
  /// below 2^-380 is dropped, by each value on its own.
  static constexpr int top_exponent = 300;
  /// Longest run of values per call of `add`.
  static constexpr int max_run = 2048;

  /// Adds at most max_run values. Values that are not finite or above 2^340 make the sum invalid (value() is NaN).
  void add(std::span<const double> values);
  void add(double value) { add(std::span<const double>(&value, 1)); }
  ExactSum& operator+=(const ExactSum& other);
  /// The sum, rounded: a function of the set of values alone.
  double value() const;

  /// For the reduction over ranks: the limbs, carried so that each is below 2^limb_bits in magnitude, and the count of
  /// invalid values. Adding these element by element over up to 2^22 ranks cannot overflow.
  std::array<std::int64_t, limbs + 1> pack() const;
  static ExactSum unpack(std::span<const std::int64_t> packed);

 private:
  void carry();
  std::array<std::int64_t, limbs> limbs_{};
  std::int64_t invalid_ = 0;
};

}  // namespace mhd
