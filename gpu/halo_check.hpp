#pragma once
// Whether every halo cell arrives where it belongs. No CUDA headers here.

#include <cstdint>

#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/decomposition.hpp"

namespace mhd::gpu {

struct HaloCheck {
  std::int64_t values = 0;  ///< halo values compared, over all rounds
  std::int64_t wrong = 0;
};

/// Exchanges halos `rounds` times on the device that is current, two states in turn; each value names its cell, field
/// and round. Compares all halo values, periodic images included, of this rank. Collective. Throws as choose_exchange.
HaloCheck check_halos(const Decomposition& decomposition, const Comm& comm, int fields, bool corners,
                      TransportChoice transport, int rounds, std::uint64_t stress_seed = 0);

}  // namespace mhd::gpu
