#pragma once
// Which backends this build and this machine have, and the solver of the chosen one.

#include <memory>
#include <string>

#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/decomposition.hpp"
#include "core/solver.hpp"

namespace mhd {

/// "cpu" or "cpu, gpu", of this build.
std::string compiled_backends();

struct ChosenSolver {
  std::unique_ptr<Solver> solver;
  std::string backend;      ///< "cpu" or "gpu"
  std::string description;  ///< one line for the banner
  std::string placement;    ///< of several ranks: how halos travel, and a table of devices; further lines, on rank 0
};

#if MHD_HAVE_CUDA
/// Collective. Gives each rank its device; a table of them on rank 0. Throws Error(device) where there is none, or
/// where two ranks would share one without run.oversubscribe.
std::string choose_devices(const Config& config, const Comm& comm);
#endif

/// Collective. `automatic` takes the GPU where the build has that backend and every rank has a device. Throws
/// Error(device) where a GPU was asked for and there is none.
ChosenSolver make_solver(const Config& config, const Decomposition& decomposition, const Comm& comm);

}  // namespace mhd
