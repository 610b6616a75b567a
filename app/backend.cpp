#include "app/backend.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include "core/error.hpp"
#include "core/mpi_check.hpp"
#include "core/solver_cpu.hpp"
#include "io/agree.hpp"
#if MHD_HAVE_CUDA
#include "gpu/device.hpp"
#include "gpu/solver_gpu.hpp"
#endif

namespace mhd {
namespace {

ChosenSolver make_cpu_solver(const Config& config, const Decomposition& decomposition, const Comm& comm) {
  // Where one rank has too little memory, or all have, there is one message.
  std::unique_ptr<CpuSolver> solver;
  agree(comm, [&] { solver = std::make_unique<CpuSolver>(config, decomposition, comm); });
  std::string description = fmt::format("CPU, {} instructions", solver->instruction_set());
  return {std::move(solver), "cpu", std::move(description)};
}

#if MHD_HAVE_CUDA

int ranks_on_this_host(const Comm& comm) {
  if (comm.size() == 1) return 1;
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, comm.rank(), MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  int size = 1;
  check_mpi(MPI_Comm_size(node, &size), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  return size;
}

ChosenSolver make_gpu_solver(const Config& config, const Decomposition& decomposition, const Comm& comm) {
  const int local_rank = gpu::node_local_rank(comm), local_ranks = ranks_on_this_host(comm);
  std::unique_ptr<GpuSolver> solver;
  gpu::DeviceInfo device;
  agree(comm, [&] { device = gpu::select_device(local_rank, local_ranks, config.run.oversubscribe); });
  agree(comm, [&] { solver = std::make_unique<GpuSolver>(config, decomposition, comm); });
  std::string description =
      fmt::format("GPU, {} ({}), driver {}.{}, CUDA {}.{}; {}", device.name, device.pci, device.driver / 1000,
                  device.driver % 1000 / 10, device.runtime / 1000, device.runtime % 1000 / 10, solver->description());
  return {std::move(solver), "gpu", std::move(description)};
}

#endif

}  // namespace

std::string compiled_backends() { return MHD_HAVE_CUDA ? "cpu, gpu" : "cpu"; }

ChosenSolver make_solver(const Config& config, const Decomposition& decomposition, const Comm& comm) {
#if MHD_HAVE_CUDA
  if (config.run.backend == Backend::gpu ||
      (config.run.backend == Backend::automatic && comm.minimum(std::int64_t{gpu::device_count()}) > 0))
    return make_gpu_solver(config, decomposition, comm);
#else
  if (config.run.backend == Backend::gpu)
    throw Error(ExitCode::device, "run.backend = \"gpu\", but this mhdsim was built without CUDA",
                ErrorScope::everywhere);
#endif
  return make_cpu_solver(config, decomposition, comm);
}

}  // namespace mhd
