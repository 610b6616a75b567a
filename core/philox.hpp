#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as
// 1, 2, 3"). A number is a pure function of (seed, what it is for, where or when it is used): it does not depend on the
// decomposition, and a restart needs no generator state.

#include <array>
#include <cstdint>

namespace mhd {

struct PhiloxKey {
  std::uint32_t low = 0, high = 0;
};

using PhiloxBlock = std::array<std::uint32_t, 4>;

/// The 128 random bits that belong to a counter and a key.
inline PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key.low, static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key.high, static_cast<std::uint32_t>(first)};
    key.low += 0x9E3779B9;
    key.high += 0xBB67AE85;
  }
  return counter;
}

/// Every use of random numbers has its own number, so that no two uses share a stream. Never renumber: the bits of
/// runs depend on it.
enum class RandomPurpose : std::uint32_t { initial_random = 1, initial_noise = 2, forcing = 3 };

/// Two doubles in [0, 1), multiples of 2^-53, for one purpose: `index` is a cell or a step, `stream` a field or a
/// running number.
inline std::array<double, 2> random_uniform(std::uint64_t seed, RandomPurpose purpose, std::uint32_t stream,
                                            std::uint64_t index) {
  const PhiloxBlock counter{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), stream,
                            static_cast<std::uint32_t>(purpose)};
  const PhiloxBlock bits = philox(counter, {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const auto unit = [](std::uint32_t high, std::uint32_t low) {
    return static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
  };
  return {unit(bits[0], bits[1]), unit(bits[2], bits[3])};
}

}  // namespace mhd
