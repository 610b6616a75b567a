#pragma once
// `mhdsim run`: one simulation from its configuration to its summary.

#include "core/comm.hpp"
#include "core/config.hpp"

namespace mhd {

/// Collective. Returns the exit code; throws Error.
int run_simulation(const Config& config, const Comm& comm, bool overwrite);

}  // namespace mhd
