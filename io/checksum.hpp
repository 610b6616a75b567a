#pragma once
// Checksums. That of a field is a sum over its cells: it does not depend on how they are divided over ranks, nor on the
// order in which they are visited.

#include <bit>
#include <cstdint>
#include <string_view>

#include "core/box.hpp"
#include "core/comm.hpp"
#include "core/state.hpp"

namespace mhd {

/// Steele, Lea & Flood (2014), the finaliser of SplitMix64: each bit of the result depends on each bit of `x`.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// The share of one cell: `index` is its position in the global array [z][y][x].
inline std::uint64_t cell_checksum(std::uint64_t index, double value) {
  constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15ULL;
  return mix_bits(std::bit_cast<std::uint64_t>(value) ^ mix_bits((index + 1) * golden_ratio));
}

/// Sum, modulo 2^64, over the cells of `box` (global cells; the view has its size) of a grid of `cells`.
std::uint64_t field_checksum(const FieldView& view, const Box& box, Int3 cells);

/// Collective: the sum of the shares of all ranks, modulo 2^64.
std::uint64_t sum_checksums(std::uint64_t share, const Comm& comm);

/// A checksum of bytes, to be continued: `previous` is that of the bytes before, at first 0. Blocks other than the last
/// have a multiple of eight bytes.
std::uint64_t bytes_checksum(std::string_view bytes, std::uint64_t previous = 0);

}  // namespace mhd
