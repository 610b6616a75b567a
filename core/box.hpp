#pragma once
// Index vectors and boxes of cells. Axis 0 is x (fastest in memory), 1 is y, 2 is z.

#include <algorithm>
#include <cstdint>
#include <string>

namespace mhd {

struct Int3 {
  int x = 0, y = 0, z = 0;

  constexpr int operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr int& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr std::int64_t product() const { return std::int64_t{x} * y * z; }
  friend constexpr bool operator==(const Int3&, const Int3&) = default;
  friend constexpr Int3 operator+(Int3 a, Int3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend constexpr Int3 operator-(Int3 a, Int3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
};

struct Real3 {
  double x = 0, y = 0, z = 0;

  constexpr double operator[](int axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr double& operator[](int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
  friend constexpr bool operator==(const Real3&, const Real3&) = default;
};

/// Half-open box of cells: lower <= cell < upper on each axis.
struct Box {
  Int3 lower, upper;

  constexpr Int3 size() const { return upper - lower; }
  constexpr bool empty() const { return upper.x <= lower.x || upper.y <= lower.y || upper.z <= lower.z; }
  constexpr std::int64_t volume() const { return empty() ? 0 : size().product(); }
  constexpr bool contains(Int3 c) const {
    return c.x >= lower.x && c.x < upper.x && c.y >= lower.y && c.y < upper.y && c.z >= lower.z && c.z < upper.z;
  }
  friend constexpr bool operator==(const Box&, const Box&) = default;
};

constexpr Box intersect(const Box& a, const Box& b) {
  Box r;
  for (int axis = 0; axis < 3; ++axis) {
    r.lower[axis] = std::max(a.lower[axis], b.lower[axis]);
    r.upper[axis] = std::min(a.upper[axis], b.upper[axis]);
  }
  return r;
}

inline constexpr char axis_name(int axis) { return "xyz"[axis]; }

/// "4 x 2 x 1"
inline std::string to_string(Int3 v) {
  return std::to_string(v.x) + " x " + std::to_string(v.y) + " x " + std::to_string(v.z);
}

}  // namespace mhd
