#pragma once
// `mhdsim bench halo`: what the exchange of halos between GPUs costs, and how much of it the computation hides.

#include <cstdint>
#include <optional>
#include <string>

#include "core/comm.hpp"
#include "core/config.hpp"

namespace mhd {

struct BenchHaloOptions {
  Int3 cells{256, 256, 256};
  int order = 6;
  std::string physics = "full";
  std::int64_t steps = 50;  ///< timed, after a tenth as many
  std::optional<Int3> decomposition;
  std::optional<TransportChoice> transport;  ///< absent: all that are possible
  bool oversubscribe = false;
  bool verify = false;  ///< check every halo value instead
  std::int64_t rounds = 1000;
};

/// Collective. Prints a table; returns the exit code: 8 where `verify` finds a wrong value.
int bench_halo(const BenchHaloOptions& options, const Comm& comm);

}  // namespace mhd
