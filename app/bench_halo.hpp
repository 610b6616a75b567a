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
  std::string axes = "xyz";                  ///< along which a single rank exchanges with itself
  bool timeline = false;                     ///< show the stages of one step instead
  bool oversubscribe = false;
  bool verify = false;  ///< check every halo value instead
  std::int64_t rounds = 1000;
};

/// Collective. Prints a table; returns the exit code: 8 where `verify` finds a wrong value. A single rank exchanges
/// with itself: what packing, messages, unpacking and the cut into segments cost when the way is as short as can be.
int bench_halo(const BenchHaloOptions& options, const Comm& comm);

}  // namespace mhd
