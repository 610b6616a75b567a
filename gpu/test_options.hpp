#pragma once
// What tests and measurements change about the way in which halos travel. No CUDA headers here.

#include <cstdint>
#include <optional>

#include "core/box.hpp"

namespace mhd::gpu {

struct TestOptions {
  std::uint64_t stress_seed = 0;  ///< unless 0: random delays before every pack, send, unpack and segment
  int ranks_per_node = 0;         ///< unless 0: as if each so many successive ranks had a node of their own
  std::optional<Int3> cut = {};   ///< the tile of SegmentPlan; otherwise what a trial finds fastest
};

}  // namespace mhd::gpu
