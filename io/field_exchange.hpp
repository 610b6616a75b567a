#pragma once
// Cells of a field travel from the ranks that compute them to the ranks that store them, who hold contiguous ranges of
// the array [z][y][x].

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/box.hpp"
#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/state.hpp"

namespace mhd {

/// Values `first` <= i < `end` of an array, counted in its order. Nothing where end <= first.
struct ArrayRange {
  std::int64_t first = 0, end = 0;
  std::int64_t count() const { return end > first ? end - first : 0; }
};

class FieldExchange {
 public:
  /// Collective. The boxes of all ranks cover `cells` once.
  FieldExchange(Int3 cells, const Box& box, Precision precision, const Comm& comm);

  int value_bytes() const { return value_bytes_; }

  /// Collective: the values of the range that `range_of` gives for this rank, converted; valid until the next call. All
  /// ranks must know the ranges of all. A view without data stands for zeros: a rank without cells, or one that has
  /// failed and takes part for the others' sake. Throws Error(internal) where a rank would send 2 GiB or more at once.
  std::span<const std::byte> collect(const FieldView& view, const std::function<ArrayRange(int rank)>& range_of);

 private:
  void pack(const FieldView& view, ArrayRange range, std::byte* out) const;
  std::int64_t common_bytes(int rank, ArrayRange range) const;

  Int3 cells_;
  Box box_;
  int value_bytes_;
  Comm comm_;
  std::vector<Box> boxes_;  ///< by rank
  std::vector<std::byte> out_, in_, values_;
};

}  // namespace mhd
