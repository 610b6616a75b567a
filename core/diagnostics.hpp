#pragma once
// The columns of the time series: what is reduced over the grid, and how it is named. The sums are exact, so that the
// bits of a column do not depend on ranks, decomposition or backend.

#include <cstdint>
#include <string>
#include <vector>

#include "core/comm.hpp"
#include "core/exact_sum.hpp"
#include "core/fields.hpp"

namespace mhd {

/// Partial reductions of one rank, or of the whole grid after `reduce`. Which entry is what is private to
/// core/diagnostics.cpp and the per-cell function in core/diagnostic_terms.hpp.
struct DiagnosticSums {
  std::vector<ExactSum> sums;
  std::vector<double> maxima;  ///< NaN-free: cells with non-finite values are counted in `nonfinite`
  std::int64_t nonfinite = 0;

  explicit DiagnosticSums(FieldSet fields);
  /// Combines the contributions of all ranks; collective.
  void reduce(const Comm& comm);
};

/// Names of the columns after "it t dt", in the order of the table in docs/output.md.
std::vector<std::string> diagnostic_columns(FieldSet fields);

/// Values of these columns from the reduced sums over `cells` cells; NaN where the state is not finite.
std::vector<double> diagnostic_values(FieldSet fields, const DiagnosticSums& reduced, std::int64_t cells);

}  // namespace mhd
