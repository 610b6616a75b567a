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
  static constexpr std::array<int, 2> signals = {SIGSEGV, SIGBUS};
  std::array<struct sigaction, 2> former_{};
};

/// An exchange of device memory that has passed its trial; otherwise none, and what numbers were wrong.
ChosenExchange tried_exchange(const HaloPlan& plan, const Layout& layout, int fields, const Comm& comm,
                              std::uint64_t stress_seed) {
  ChosenExchange tried;
  std::string error, wrong;
  try {
    const CrashGuard guard;
    tried.halo = std::make_unique<HaloExchange>(plan, layout, fields, comm, Transport::cuda_aware, stress_seed);
    wrong = tried.halo->trial();
  } catch (const Error& e) {
    error = e.what();
  }
  // Messages may still be under way: there is no going on.
  if (const std::string first = first_failure(error, comm); !first.empty())
    throw Error(ExitCode::device,
                "a trial of sending device memory through MPI failed: " + first +
                    "; run.transport = \"host_staged\" does without",
                ErrorScope::everywhere);
  tried.text = first_failure(wrong, comm);
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
  if (support != 1 && choice == TransportChoice::automatic)
    return staged(says + " (run.transport = \"cuda_aware\" tries it all the same, and crashes if it is true)");
  ChosenExchange tried = tried_exchange(plan, layout, fields, comm, stress_seed);
  if (tried.halo) {
    tried.text = "by CUDA-aware MPI: " + says + ", and a trial with every neighbour passed";
    return tried;
  }
  const std::string wrong = "a trial of sending device memory through MPI gave wrong data: " + tried.text;
  if (choice != TransportChoice::automatic) throw Error(ExitCode::device, wrong, ErrorScope::everywhere);
  return staged(wrong);
}

}  // namespace mhd::gpu
