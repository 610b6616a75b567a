#pragma once
// `mhdsim run`: one simulation from its configuration to its summary.

#include "app/run_options.hpp"
#include "core/comm.hpp"
#include "core/config.hpp"

namespace mhd {

/// Collective. Returns the exit code; throws Error.
int run_simulation(const Config& config, const Comm& comm, const RunOptions& options);

}  // namespace mhd
