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
};

/// Collective. `automatic` takes the GPU where the build has that backend and every rank has a device. Throws
/// Error(device) where a GPU was asked for and there is none.
ChosenSolver make_solver(const Config& config, const Decomposition& decomposition, const Comm& comm);

}  // namespace mhd
