#include "core/operation_count.hpp"

#include "core/coefficients.hpp"
#include "core/mhd.hpp"
#include "core/runge_kutta.hpp"

namespace mhd {
namespace {

thread_local OperationCount count;

/// A number that counts what is done with it.
struct Counting {
  double value = 0;

  Counting() = default;
  explicit Counting(double v) : value(v) {}
  friend Counting operator+(Counting a, Counting b) { return ++count.additions, Counting(a.value + b.value); }
  friend Counting operator-(Counting a, Counting b) { return ++count.additions, Counting(a.value - b.value); }
  friend Counting operator*(Counting a, Counting b) { return ++count.multiplications, Counting(a.value * b.value); }
  friend Counting operator+(Counting a, double b) { return a + Counting(b); }
  friend Counting operator-(Counting a, double b) { return a - Counting(b); }
  friend Counting operator*(double a, Counting b) { return Counting(a) * b; }
  /// Free: an operand of the next operation is negated on the way.
  friend Counting operator-(Counting a) { return Counting(-a.value); }
};

Counting fma(Counting a, Counting b, Counting c) { return ++count.fused, Counting(a.value * b.value + c.value); }
Counting fma(double a, Counting b, Counting c) { return fma(Counting(a), b, c); }
Counting larger(Counting a, Counting b) { return ++count.additions, a.value < b.value ? b : a; }
Counting smaller(Counting a, Counting b) { return ++count.additions, b.value < a.value ? b : a; }
Counting power_of_two(Counting) { return Counting(1); }
Counting inverse_power_of_two(Counting) { return Counting(1); }

struct Sample {
  Counting operator()(int, int, int) const { return Counting(0.1); }
};

template <int R, bool Magnetic, bool Entropy>
void one_substep(const Coefficients& c) {
  const Sample at;
  VectorDerivatives<Counting> a;
  ScalarDerivatives<Counting> ss;
  if constexpr (Magnetic) a = vector_derivatives<R, Counting>(c.stencil, at, at, at);
  const auto u = vector_derivatives<R, Counting>(c.stencil, at, at, at);
  const auto lnrho = scalar_derivatives<R, Counting>(c.stencil, at);
  if constexpr (Entropy) ss = scalar_derivatives<R, Counting>(c.stencil, at);
  const Rates<Counting> rate = right_hand_side<Magnetic, Entropy>(c.physics, lnrho, u, a, ss);
  const SubstepCoefficients rk = substep_coefficients(1, 0.1);
  for (int field = 0; field < FieldSet{Magnetic, Entropy}.count(); ++field)
    advance<false>(rk, lnrho.value, lnrho.value, rate.lnrho);
}

template <int R>
void one_substep(const Coefficients& c, FieldSet f) {
  if (f.magnetic)
    f.entropy ? one_substep<R, true, true>(c) : one_substep<R, true, false>(c);
  else
    f.entropy ? one_substep<R, false, true>(c) : one_substep<R, false, false>(c);
}

}  // namespace

OperationCount operations_per_substep(int radius, FieldSet fields) {
  const Coefficients c{};
  count = {};
  switch (radius) {
    case 1:
      one_substep<1>(c, fields);
      break;
    case 2:
      one_substep<2>(c, fields);
      break;
    case 3:
      one_substep<3>(c, fields);
      break;
    default:
      one_substep<4>(c, fields);
  }
  return count;
}

std::int64_t flops_per_step(int radius, FieldSet fields) {
  return substeps * operations_per_substep(radius, fields).flops();
}

std::int64_t bytes_per_step(FieldSet fields) {
  const std::int64_t field = sizeof(double);
  return fields.count() * field * (2 + 3 * (substeps - 1));
}

}  // namespace mhd
