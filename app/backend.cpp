#include "app/backend.hpp"

#include <fmt/core.h>

#include "core/error.hpp"
#include "core/solver_cpu.hpp"
#include "io/agree.hpp"

namespace mhd {

std::string compiled_backends() { return MHD_HAVE_CUDA ? "cpu, gpu" : "cpu"; }

ChosenSolver make_solver(const Config& config, const Decomposition& decomposition, const Comm& comm) {
  if (config.run.backend == Backend::gpu)
    throw Error(ExitCode::device, "run.backend = \"gpu\", but this mhdsim was built without CUDA",
                ErrorScope::everywhere);
  // Where one rank has too little memory, or all have, there is one message.
  std::unique_ptr<CpuSolver> solver;
  agree(comm, [&] { solver = std::make_unique<CpuSolver>(config, decomposition, comm); });
  std::string description = fmt::format("CPU, {} instructions", solver->instruction_set());
  return {std::move(solver), "cpu", std::move(description)};
}

}  // namespace mhd
