#pragma once
// What a step costs in principle: floating-point operations and bytes per cell, for comparison with a machine's
// ceilings.

#include <cstdint>

#include "core/fields.hpp"

namespace mhd {

struct OperationCount {
  std::int64_t additions = 0;  ///< with subtractions, comparisons and negations
  std::int64_t multiplications = 0;
  std::int64_t fused = 0;  ///< multiply-adds, two floating-point operations each

  std::int64_t instructions() const { return additions + multiplications + fused; }
  std::int64_t flops() const { return additions + multiplications + 2 * fused; }
};

/// Of one substep of one cell, counted by running the right-hand side on a type that counts.
OperationCount operations_per_substep(int radius, FieldSet fields);

/// Floating-point operations per cell and step.
std::int64_t flops_per_step(int radius, FieldSet fields);

/// Least memory traffic per cell and step, in bytes: each substep reads and writes each field once, and all but the
/// first read the previous state as well.
std::int64_t bytes_per_step(FieldSet fields);

}  // namespace mhd
