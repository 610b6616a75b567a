#include "gpu/transport.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/nodes.hpp"

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

/// What all ways have in common.
struct Setting {
  const RunConfig& run;
  const HaloPlan& plan;
  const Layout& layout;
  int fields;
  const Comm& comm;
  Timeline& timeline;
  TestOptions test;

  template <class Choice>
  std::unique_ptr<HaloExchange> exchange(const Choice& transport_of) const {
    std::vector<Transport> transports;
    for (const HaloMessage& message : plan.messages) transports.push_back(transport_of(message));
    return std::make_unique<HaloExchange>(plan, layout, fields, comm, transports, timeline, test.stress_seed);
  }
  /// An exchange that has passed its trial; otherwise none, and on all ranks why. Throws Error(device) on all ranks
  /// where messages may still be under way, since then there is no going on.
  template <class Choice>
  ChosenExchange tried_exchange(const Choice& transport_of) const {
    ChosenExchange tried;
    std::string failure;
    try {
      tried.halo = exchange(transport_of);
    } catch (const Error& e) {
      failure = e.what();
    }
    tried.text = comm.first_failure(failure);
    if (tried.text.empty()) {
      std::string wrong;
      try {
        const CrashGuard guard;
        wrong = tried.halo->trial();
      } catch (const Error& e) {
        failure = e.what();
      }
      if (const std::string first = comm.first_failure(failure); !first.empty())
        throw Error(
            ExitCode::device,
            "a trial of sending device memory failed: " + first + "; run.transport = \"host_staged\" does without",
            ErrorScope::everywhere);
      tried.text = comm.first_failure(wrong);
    }
    if (!tried.text.empty()) tried.halo.reset();
    return tried;
  }
};

[[noreturn]] void fail(const std::string& message) { throw Error(ExitCode::device, message, ErrorScope::everywhere); }

ChosenExchange staged(const Setting& with, const std::string& why) {
  if (with.run.require_cuda_aware)
    fail("a CUDA-aware MPI is required, but halos would travel through host memory: " + why);
  return {with.exchange([](const HaloMessage&) { return Transport::host_staged; }),
          "through pinned host memory: " + why};
}

ChosenExchange mixed(const Setting& with, const std::string& says) {
  const std::int64_t longest = with.run.rdma_threshold / static_cast<std::int64_t>(sizeof(double)) / with.fields;
  ChosenExchange tried = with.tried_exchange([&](const HaloMessage& message) {
    return message.cells <= longest ? Transport::cuda_aware : Transport::host_staged;
  });
  if (!tried.halo) fail(says + ", but a trial failed (" + tried.text + ")");
  tried.text = "messages of up to " + std::to_string(with.run.rdma_threshold) +
               " bytes by CUDA-aware MPI, longer ones through pinned host memory: as configured; " + says +
               ", and a trial passed";
  return tried;
}

Nodes pretended_nodes(const Setting& with) {
  std::vector<int> node_of;
  for (int rank = 0; rank < with.comm.size(); ++rank) node_of.push_back(rank / with.test.ranks_per_node);
  return Nodes(node_of);
}

/// Within nodes by CUDA IPC; between them by MPI, from device memory where it says that it takes that.
ChosenExchange peers(const Setting& with, bool cuda_aware, const std::string& why) {
  const Nodes nodes = with.test.ranks_per_node > 0 ? pretended_nodes(with) : Nodes(with.comm);
  bool near = false, far = false;
  for (const HaloMessage& message : with.plan.messages)
    (nodes.same(message.neighbour, with.comm.rank()) ? near : far) = true;
  if (with.comm.maximum(std::int64_t{near}) == 0) return {nullptr, "no neighbours share a node"};
  far = with.comm.maximum(std::int64_t{far}) > 0;
  const Transport between = cuda_aware ? Transport::cuda_aware : Transport::host_staged;
  ChosenExchange tried = with.tried_exchange([&](const HaloMessage& message) {
    return nodes.same(message.neighbour, with.comm.rank()) ? Transport::peer : between;
  });
  if (!tried.halo) return tried;
  tried.text = "from device to device by CUDA IPC";
  if (far)
    tried.text += std::string(" within nodes, ") + (cuda_aware ? "by CUDA-aware MPI" : "through pinned host memory") +
                  " between them";
  tried.text += ": " + why + ", and a trial passed";
  return tried;
}

}  // namespace

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

ChosenExchange choose_exchange(const RunConfig& run, const HaloPlan& plan, const Layout& layout, int fields,
                               const Comm& comm, Timeline& timeline, const TestOptions& test) {
  const Setting with{run, plan, layout, fields, comm, timeline, test};
  const TransportChoice choice = run.transport;
  if (choice == TransportChoice::host_staged) return staged(with, "as configured");
  const std::int64_t support = comm.minimum(std::int64_t{cuda_support_of_mpi()});
  std::string says = support == 1   ? "MPI says that it takes device memory"
                     : support == 0 ? "MPI says that it does not take device memory"
                                    : "MPI does not say whether it takes device memory";
  if (choice == TransportChoice::mixed) return mixed(with, says);
  if (choice == TransportChoice::cuda_aware || (choice == TransportChoice::automatic && support == 1)) {
    ChosenExchange tried = with.tried_exchange([](const HaloMessage&) { return Transport::cuda_aware; });
    if (tried.halo) {
      tried.text = "by CUDA-aware MPI: " + says + ", and a trial with every neighbour passed";
      return tried;
    }
    says += ", but a trial failed (" + tried.text + ")";
    if (choice == TransportChoice::cuda_aware) fail(says);
  }
  const bool configured = choice == TransportChoice::peer;
  ChosenExchange tried;
  if (run.require_cuda_aware)
    tried.text = "a CUDA-aware MPI is required";
  else
    tried = peers(with, configured && support == 1, configured ? "as configured" : says);
  if (tried.halo) return tried;
  if (configured) fail("run.transport = \"peer\" is not possible: " + tried.text);
  return staged(with, run.require_cuda_aware ? says : says + "; CUDA IPC is not possible: " + tried.text);
}

}  // namespace mhd::gpu
