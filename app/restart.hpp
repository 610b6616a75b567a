#pragma once
// Where a run begins that goes on from a checkpoint.

#include <string>
#include <vector>

#include "app/run_options.hpp"
#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/decomposition.hpp"
#include "core/solver.hpp"
#include "io/checkpoint.hpp"
#include "io/run_directory.hpp"

namespace mhd {

/// Collective: what is to become of files in the run directory. Throws Error(usage) for options that contradict each
/// other, Error(io) where there is no checkpoint to start from; nothing has been created or removed then.
EarlierRun earlier_run(const RunOptions& options, const Config& config, const Comm& comm);

struct Restored {
  RunState state;
  std::vector<std::string> notes;  ///< lines to be told
};

/// Collective: loads the checkpoint that the options name; of "latest" the newest one that is undamaged, with a note on
/// each that is not. Throws Error(configuration) naming the key and both values for keys that must not change,
/// Error(io) where no checkpoint can be used.
Restored restore(const RunOptions& options, const Config& config, const Decomposition& decomposition, const Comm& comm,
                 Solver& solver);

}  // namespace mhd
