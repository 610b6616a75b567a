#pragma once
// Central finite differences of order 2, 4, 6, 8: coefficients and operators.
//
// The order of the floating-point operations below is part of the discretisation: every backend calls these functions,
// or, where it streams values plane by plane, adds the same terms in the same order. Coefficients are multiplied by the
// inverse spacings once, on the host.
//
//   first      r = c1 (f1 - f-1);  r = fma(c_k, f_k - f_-k, r)   k ascending
//   second     q = c0 f0;           q = fma(c_k, f_k + f_-k, q)   k ascending, one chain through x, y, z
//   mixed xy   r = c1 d_1;          r = fma(c_k, d_k, r)          d_k = (f++ - f+-) + (f-- - f-+)
//   mixed with z: by planes of ascending z, with the in-plane difference D_k(z) = f(+k, z) - f(-k, z):
//              r = -c_R D_R(-R);    r = fma(-c_k, D_k(-k), r) k descending;  r = fma(c_k, D_k(k), r) k ascending
//              The z component of grad div has two such parts, xz of f_x and yz of f_y: one chain, x before y.

#include "core/math.hpp"

namespace mhd {

inline constexpr int max_radius = 4;

/// Finite-difference coefficients of one grid, already divided by the spacings; all 0 along inactive directions.
struct StencilCoefficients {
  double first[3][max_radius];       ///< [axis][k-1], c_k/d
  double second[3][max_radius + 1];  ///< [axis][k], c_k/d^2
  double mixed_xy[max_radius];       ///< [k-1], c_k/(dx dy)
  double mixed_xz[max_radius];
  double mixed_yz[max_radius];
  double centre;            ///< c_0 (1/dx^2 + 1/dy^2 + 1/dz^2)
  double centre_others[3];  ///< the same without the axis itself
};

/// A scalar field at a cell, with what the right-hand side needs of its neighbourhood.
template <class V>
struct ScalarDerivatives {
  V value;
  V gradient[3];
  V laplacian;
};

/// A vector field at a cell; gradient[i][j] = d f_i / d x_j.
template <class V>
struct VectorDerivatives {
  V value[3];
  V gradient[3][3];
  V laplacian[3];
  V grad_div[3];
};

/// First derivative; at(k) is the value k cells along the axis.
template <int R, class At>
MHD_HD auto first_derivative(const double (&c)[max_radius], At at) {
  auto r = c[0] * (at(1) - at(-1));
  MHD_UNROLL
  for (int k = 2; k <= R; ++k) r = fma(c[k - 1], at(k) - at(-k), r);
  return r;
}

/// Continues a chain of second-derivative terms (the centre term is already in q).
template <int R, class V, class At>
MHD_HD V add_second_derivative(const double (&c)[max_radius + 1], At at, V q) {
  MHD_UNROLL
  for (int k = 1; k <= R; ++k) q = fma(c[k], at(k) + at(-k), q);
  return q;
}

/// Bidiagonal mixed derivative in the x-y plane; at(i, j).
template <int R, class At>
MHD_HD auto mixed_in_plane(const double (&c)[max_radius], At at) {
  auto r = c[0] * ((at(1, 1) - at(1, -1)) + (at(-1, -1) - at(-1, 1)));
  MHD_UNROLL
  for (int k = 2; k <= R; ++k) r = fma(c[k - 1], (at(k, k) - at(k, -k)) + (at(-k, -k) - at(-k, k)), r);
  return r;
}

/// Adds to a mixed derivative with z what the plane at offset k contributes; `difference` = f(+|k|) - f(-|k|) along the
/// in-plane axis, in that plane. Planes come in ascending order, the first (k = -R) opens the sum.
template <int R, class V>
MHD_HD V add_plane(const double (&c)[max_radius], int k, V difference, V r) {
  if (k == -R) return -c[R - 1] * difference;
  return k < 0 ? fma(-c[-k - 1], difference, r) : fma(c[k - 1], difference, r);
}

/// The parts of grad div of a vector that mix z with another axis: d_xz f_z, d_yz f_z, d_xz f_x + d_yz f_y.
template <class V>
struct AcrossPlanes {
  V xz_of_z, yz_of_z, z_of_xy;
};

/// In-plane differences f(+k) - f(-k) of a vector's components in one plane: which axis, of which component.
template <class V>
struct PlaneDifferences {
  V x_of_x, y_of_y, x_of_z, y_of_z;
};

/// Adds the plane at offset k, whose differences span |k| cells to both sides, to `sums`; the result belongs to the
/// same cell. Planes as in add_plane.
template <int R, class V>
MHD_HD AcrossPlanes<V> add_plane(const StencilCoefficients& c, int k, const PlaneDifferences<V>& d,
                                 const AcrossPlanes<V>& sums) {
  AcrossPlanes<V> r;
  r.xz_of_z = add_plane<R>(c.mixed_xz, k, d.x_of_z, sums.xz_of_z);
  r.yz_of_z = add_plane<R>(c.mixed_yz, k, d.y_of_z, sums.yz_of_z);
  const V x_part = add_plane<R>(c.mixed_xz, k, d.x_of_x, sums.z_of_xy);
  r.z_of_xy = fma(k < 0 ? -c.mixed_yz[-k - 1] : c.mixed_yz[k - 1], d.y_of_y, x_part);
  return r;
}

/// Gradient and Laplacian of a scalar; at(i, j, k) is the value at that offset.
template <int R, class V, class At>
MHD_HD ScalarDerivatives<V> scalar_derivatives(const StencilCoefficients& c, At at) {
  const auto x = [&](int k) MHD_LAMBDA { return at(k, 0, 0); };
  const auto y = [&](int k) MHD_LAMBDA { return at(0, k, 0); };
  const auto z = [&](int k) MHD_LAMBDA { return at(0, 0, k); };
  ScalarDerivatives<V> d;
  d.value = at(0, 0, 0);
  d.gradient[0] = first_derivative<R>(c.first[0], x);
  d.gradient[1] = first_derivative<R>(c.first[1], y);
  d.gradient[2] = first_derivative<R>(c.first[2], z);
  V q = c.centre * d.value;
  q = add_second_derivative<R>(c.second[0], x, q);
  q = add_second_derivative<R>(c.second[1], y, q);
  d.laplacian = add_second_derivative<R>(c.second[2], z, q);
  return d;
}

/// Gradient tensor alone (diagnostics, Courant condition): gradient[j] of one component.
template <int R, class V, class At>
MHD_HD void gradient(const StencilCoefficients& c, At at, V (&g)[3]) {
  g[0] = first_derivative<R>(c.first[0], [&](int k) MHD_LAMBDA { return at(k, 0, 0); });
  g[1] = first_derivative<R>(c.first[1], [&](int k) MHD_LAMBDA { return at(0, k, 0); });
  g[2] = first_derivative<R>(c.first[2], [&](int k) MHD_LAMBDA { return at(0, 0, k); });
}

/// All derivatives of a vector; at_x, at_y, at_z are the accessors of its components, `across` holds the parts of
/// grad div that were summed plane by plane.
template <int R, class V, class AtX, class AtY, class AtZ>
MHD_HD VectorDerivatives<V> vector_derivatives(const StencilCoefficients& c, AtX at_x, AtY at_y, AtZ at_z,
                                               const AcrossPlanes<V>& across) {
  VectorDerivatives<V> d;
  V own[3];  // d^2 f_i / d x_i^2
  const auto component = [&](int i, auto at) MHD_LAMBDA {
    const auto x = [&](int k) MHD_LAMBDA { return at(k, 0, 0); };
    const auto y = [&](int k) MHD_LAMBDA { return at(0, k, 0); };
    const auto z = [&](int k) MHD_LAMBDA { return at(0, 0, k); };
    d.value[i] = at(0, 0, 0);
    d.gradient[i][0] = first_derivative<R>(c.first[0], x);
    d.gradient[i][1] = first_derivative<R>(c.first[1], y);
    d.gradient[i][2] = first_derivative<R>(c.first[2], z);
    // Its own axis first, since grad div needs that part alone; then the others.
    V q = c.second[i][0] * d.value[i];
    if (i == 0) q = add_second_derivative<R>(c.second[0], x, q);
    if (i == 1) q = add_second_derivative<R>(c.second[1], y, q);
    if (i == 2) q = add_second_derivative<R>(c.second[2], z, q);
    own[i] = q;
    q = fma(c.centre_others[i], d.value[i], q);
    if (i != 0) q = add_second_derivative<R>(c.second[0], x, q);
    if (i != 1) q = add_second_derivative<R>(c.second[1], y, q);
    if (i != 2) q = add_second_derivative<R>(c.second[2], z, q);
    d.laplacian[i] = q;
  };
  component(0, at_x);
  component(1, at_y);
  component(2, at_z);
  const auto xy = [&](auto at) MHD_LAMBDA {
    return mixed_in_plane<R>(c.mixed_xy, [&](int i, int j) MHD_LAMBDA { return at(i, j, 0); });
  };
  d.grad_div[0] = (own[0] + xy(at_y)) + across.xz_of_z;
  d.grad_div[1] = (xy(at_x) + own[1]) + across.yz_of_z;
  d.grad_div[2] = across.z_of_xy + own[2];
  return d;
}

/// All derivatives of a vector whose neighbourhood is all at hand.
template <int R, class V, class AtX, class AtY, class AtZ>
MHD_HD VectorDerivatives<V> vector_derivatives(const StencilCoefficients& c, AtX at_x, AtY at_y, AtZ at_z) {
  AcrossPlanes<V> across{};
  const auto add = [&](int k) MHD_LAMBDA {
    const int n = k < 0 ? -k : k;
    across = add_plane<R, V>(c, k,
                             {at_x(n, 0, k) - at_x(-n, 0, k), at_y(0, n, k) - at_y(0, -n, k),
                              at_z(n, 0, k) - at_z(-n, 0, k), at_z(0, n, k) - at_z(0, -n, k)},
                             across);
  };
  MHD_UNROLL
  for (int k = R; k >= 1; --k) add(-k);
  MHD_UNROLL
  for (int k = 1; k <= R; ++k) add(k);
  return vector_derivatives<R, V>(c, at_x, at_y, at_z, across);
}

}  // namespace mhd
