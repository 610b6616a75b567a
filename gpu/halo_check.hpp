#pragma once
// Whether every halo cell arrives where it belongs. No CUDA headers here.

#include <cstdint>

#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/decomposition.hpp"
#include "gpu/test_options.hpp"

namespace mhd::gpu {

struct HaloCheck {
  std::int64_t values = 0;  ///< halo values compared, over all rounds
  std::int64_t wrong = 0;
};

/// Exchanges halos `rounds` times on the device that is current, two states in turn; each value names its cell, field
/// and round. Compares all halo values, periodic images included, of this rank. Collective. Throws as choose_exchange.
HaloCheck check_halos(const Decomposition& decomposition, const Comm& comm, int fields, const RunConfig& run,
                      int rounds, const TestOptions& test = {});

}  // namespace mhd::gpu
