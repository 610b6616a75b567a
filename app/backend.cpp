#include "app/backend.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <vector>

#include "core/error.hpp"
#include "core/nodes.hpp"
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
  return {std::move(solver), "cpu", std::move(description), ""};
}

#if MHD_HAVE_CUDA

/// The device of one rank, and where it is.
struct Place {
  gpu::DeviceInfo device;
  std::string host;
  int rank_on_host = 0;
  bool scattered = false;  ///< some node holds ranks that do not follow one another

  std::string line(int rank) const {
    return fmt::format("{:>5}  {:<20} {:>12}  {:<14} {}", rank, host, rank_on_host, device.pci, device.uuid);
  }
};

/// A message on all ranks if two share a device.
void refuse_shared_devices(const Place& mine, const Comm& comm) {
  const std::vector<std::string> devices = comm.gather(mine.host + " " + mine.device.uuid);
  std::string problem;
  for (std::size_t a = 0; a < devices.size(); ++a)
    for (std::size_t b = a + 1; b < devices.size() && problem.empty(); ++b)
      if (devices[a] == devices[b])
        problem = fmt::format(
            "ranks {} and {} share the GPU {} of host {}; start one rank per GPU, or set run.oversubscribe = true", a,
            b, mine.device.uuid.empty() ? "" : devices[a].substr(devices[a].find(' ') + 1),
            devices[a].substr(0, devices[a].find(' ')));
  problem = comm.broadcast(problem);
  if (!problem.empty()) throw Error(ExitCode::device, problem, ErrorScope::everywhere);
}

Place choose_device(bool oversubscribe, const Comm& comm) {
  Place place;
  const Nodes nodes(comm);
  place.rank_on_host = nodes.local_rank(comm.rank());
  place.scattered = !nodes.contiguous();
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) == 0) place.host = host;
  // Where each rank is shown a device of its own, their number says nothing: the devices themselves are compared.
  agree(comm, [&] { place.device = gpu::select_device(place.rank_on_host, place.rank_on_host + 1, true); });
  if (!oversubscribe && comm.size() > 1) refuse_shared_devices(place, comm);
  return place;
}

/// A table of ranks and devices, on rank 0: further lines.
std::string placement_text(const Place& mine, const Comm& comm) {
  const std::vector<std::string> lines = comm.gather(mine.line(comm.rank()));
  std::string text = "\n   rank  host                 rank on host  PCI            GPU";
  for (const std::string& line : lines) text += "\n  " + line;
  if (mine.scattered)
    text +=
        "\n  note: the ranks of a node do not follow one another, so that more halos than necessary travel between "
        "nodes; start\n        them block by block (srun --distribution=block, mpiexec -ppn)";
  return text;
}

ChosenSolver make_gpu_solver(const Config& config, const Decomposition& decomposition, const Comm& comm) {
  const Place place = choose_device(config.run.oversubscribe, comm);
  const gpu::DeviceInfo& device = place.device;
  std::unique_ptr<GpuSolver> solver;
  agree(comm, [&] { solver = std::make_unique<GpuSolver>(config, decomposition, comm); });
  std::string description =
      fmt::format("GPU, {} ({}), driver {}.{}, CUDA {}.{}; {}", device.name, device.pci, device.driver / 1000,
                  device.driver % 1000 / 10, device.runtime / 1000, device.runtime % 1000 / 10, solver->description());
  std::string placement = comm.size() > 1 ? fmt::format("\n  halos          {}\n  overlap        {}",
                                                        solver->transport(), solver->overlap()) +
                                                placement_text(place, comm)
                                          : "";
  return {std::move(solver), "gpu", std::move(description), std::move(placement)};
}

#endif

}  // namespace

#if MHD_HAVE_CUDA
std::string choose_devices(const Config& config, const Comm& comm) {
  return placement_text(choose_device(config.run.oversubscribe, comm), comm);
}
#endif

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
