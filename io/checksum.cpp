#include "io/checksum.hpp"

#include <array>
#include <cstring>

namespace mhd {

std::uint64_t field_checksum(const FieldView& view, const Box& box, Int3 cells) {
  std::uint64_t sum = 0;
  for (int z = 0; z < view.cells.z; ++z)
    for (int y = 0; y < view.cells.y; ++y) {
      const double* row = view.data + y * view.stride_y + z * view.stride_z;
      const auto first = static_cast<std::uint64_t>(
          box.lower.x + std::int64_t{cells.x} * (box.lower.y + y + std::int64_t{cells.y} * (box.lower.z + z)));
      for (int x = 0; x < view.cells.x; ++x) sum += cell_checksum(first + static_cast<std::uint64_t>(x), row[x]);
    }
  return sum;
}

std::uint64_t sum_checksums(std::uint64_t share, const Comm& comm) {
  // In halves, whose sums cannot overflow.
  std::array<std::int64_t, 2> halves{static_cast<std::int64_t>(share & 0xffffffffU),
                                     static_cast<std::int64_t>(share >> 32)};
  comm.sum(halves);
  return static_cast<std::uint64_t>(halves[0]) + (static_cast<std::uint64_t>(halves[1]) << 32);
}

std::uint64_t bytes_checksum(std::string_view bytes, std::uint64_t previous) {
  std::uint64_t sum = mix_bits(previous + bytes.size());
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    sum = mix_bits(sum ^ word) + 0x9e3779b97f4a7c15ULL;
  }
  return sum;
}

}  // namespace mhd
