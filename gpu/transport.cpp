#include "gpu/transport.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "core/error.hpp"

namespace mhd::gpu {
namespace {

constexpr char crash_message[] =
    "mhdsim: error: MPI crashed when it was given device memory, so it is not CUDA-aware (or not the library that was "
    "meant); use run.transport = \"host_staged\", or see docs/clusters.md\n";

extern "C" void end_after_crash(int) {
  const auto written = write(STDERR_FILENO, crash_message, sizeof crash_message - 1);
  static_cast<void>(written);
  _exit(static_cast<int>(ExitCode::device));
}

/// While it lives, a crash of this process ends with a message.
class CrashGuard {
 public:
  CrashGuard() {
    struct sigaction action {};
    action.sa_handler = end_after_crash;
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &action, &former_[i]);
  }
  ~CrashGuard() {
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &former_[i], nullptr);
  }
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

 private:
  static constexpr std::array<int, 3> signals = {SIGSEGV, SIGBUS, SIGABRT};  // UCX aborts
  std::array<struct sigaction, 3> former_{};
};

/// An exchange that has passed its trial; otherwise none, and on all ranks why. Throws Error(device) on all ranks where
/// messages may still be under way, since then there is no going on.
ChosenExchange tried_exchange(Transport transport, const HaloPlan& plan, const Layout& layout, int fields,
                              const Comm& comm, std::uint64_t stress_seed) {
  ChosenExchange tried;
  std::string failure;
  try {
    tried.halo = std::make_unique<HaloExchange>(plan, layout, fields, comm, transport, stress_seed);
  } catch (const Error& e) {
    failure = e.what();
  }
  tried.text = first_failure(failure, comm);
  if (tried.text.empty()) {
    std::string wrong;
    try {
      const CrashGuard guard;
      wrong = tried.halo->trial();
    } catch (const Error& e) {
      failure = e.what();
    }
    if (const std::string first = first_failure(failure, comm); !first.empty())
      throw Error(
          ExitCode::device,
          "a trial of sending device memory failed: " + first + "; run.transport = \"host_staged\" does without",
          ErrorScope::everywhere);
    tried.text = first_failure(wrong, comm);
  }
  if (!tried.text.empty()) tried.halo.reset();
  return tried;
}

}  // namespace

std::string first_failure(const std::string& mine, const Comm& comm) {
  const std::int64_t failed = comm.minimum(std::int64_t{mine.empty() ? comm.size() : comm.rank()});
  if (failed == comm.size()) return "";
  return "on rank " + std::to_string(failed) + " " + comm.broadcast(mine, static_cast<int>(failed));
}

int cuda_support_of_mpi() {
  // Looked up at run time: MPICH and Open MPI have it, the former without a declaration where it was built without
  // CUDA.
  using Query = int (*)();
  if (const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support")); query && query() == 1)
    return 1;
  // Cray MPICH answers by the variable that switches it on.
  if (const char* cray = std::getenv("MPICH_GPU_SUPPORT_ENABLED"); cray && std::string_view(cray) == "1") return 1;
  return dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support") ? 0 : -1;
}

ChosenExchange choose_exchange(TransportChoice choice, bool required, const HaloPlan& plan, const Layout& layout,
                               int fields, const Comm& comm, std::uint64_t stress_seed) {
  const auto staged = [&](const std::string& why) -> ChosenExchange {
    if (required)
      throw Error(ExitCode::device, "a CUDA-aware MPI is required, but halos would travel through host memory: " + why,
                  ErrorScope::everywhere);
    return {std::make_unique<HaloExchange>(plan, layout, fields, comm, Transport::host_staged, stress_seed),
            "through pinned host memory: " + why};
  };
  if (choice == TransportChoice::host_staged) return staged("as configured");
  const std::int64_t support = comm.minimum(std::int64_t{cuda_support_of_mpi()});
  const std::string says = support == 1   ? "MPI says that it takes device memory"
                           : support == 0 ? "MPI says that it does not take device memory"
                                          : "MPI does not say whether it takes device memory";
  std::string without_mpi = says;
  if (choice != TransportChoice::peer && (support == 1 || choice == TransportChoice::cuda_aware)) {
    ChosenExchange tried = tried_exchange(Transport::cuda_aware, plan, layout, fields, comm, stress_seed);
    if (tried.halo) {
      tried.text = "by CUDA-aware MPI: " + says + ", and a trial with every neighbour passed";
      return tried;
    }
    without_mpi += ", but a trial failed (" + tried.text + ")";
    if (choice == TransportChoice::cuda_aware) throw Error(ExitCode::device, without_mpi, ErrorScope::everywhere);
  }
  ChosenExchange tried;
  if (required)
    tried.text = "a CUDA-aware MPI is required";
  else if (!on_one_host(comm))
    tried.text = "the ranks are not on one host";
  else
    tried = tried_exchange(Transport::peer, plan, layout, fields, comm, stress_seed);
  if (tried.halo) {
    tried.text =
        "from device to device by CUDA IPC: " + (choice == TransportChoice::peer ? "as configured" : without_mpi) +
        ", and a trial passed";
    return tried;
  }
  if (choice == TransportChoice::peer)
    throw Error(ExitCode::device, "run.transport = \"peer\" is not possible: " + tried.text, ErrorScope::everywhere);
  return staged(required ? without_mpi : without_mpi + "; CUDA IPC is not possible: " + tried.text);
}

}  // namespace mhd::gpu
