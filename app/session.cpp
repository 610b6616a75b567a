#include "app/session.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <optional>
#include <string_view>

#include "core/error.hpp"
#include "io/agree.hpp"
#include "io/file.hpp"

namespace mhd {
namespace {

std::optional<int> environment_integer(const char* name) {
  const char* text = std::getenv(name);
  if (!text) return std::nullopt;
  int value = 0;
  const std::string_view view(text);
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc{} || end != view.data() + view.size()) return std::nullopt;
  return value;
}

/// What the launchers in use tell a process: Hydra (MPICH, Intel MPI), Open MPI, Slurm, PALS (Cray).
struct Launcher {
  const char* name;
  const char* size;
  const char* rank;
};
constexpr Launcher launchers[] = {
    {"mpiexec (PMI)", "PMI_SIZE", "PMI_RANK"},
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
    {"PALS mpiexec", "PALS_NRANKS", "PALS_RANKID"},
};

/// Number of processes that the launcher says it started; 1 without a launcher.
int launcher_size() {
  for (const Launcher& l : launchers)
    if (const auto size = environment_integer(l.size)) return *size;
  return 1;
}

bool mpi_running() {
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  return initialised && !finalised;
}

void refuse_singletons(int size) {
  for (const Launcher& l : launchers) {
    const std::optional<int> launched = environment_integer(l.size);
    if (size == 1 && launched && *launched > 1)
      throw Error(
          ExitCode::launch,
          fmt::format("{} started {} processes ({}={}), but MPI connects none of them: each would run the whole "
                      "simulation. Expected a launcher that matches this MPI ({}); for Slurm try "
                      "'srun --mpi=pmi2'.",
                      l.name, *launched, l.size, *launched, mpi_version()),
          ErrorScope::everywhere);
  }
}

/// MPI from construction to destruction. MPI's own errors are returned, not fatal.
class Session {
 public:
  Session(int& argc, char**& argv) {
    int provided = 0;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS)
      throw Error(ExitCode::launch, "MPI_Init failed");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    comm_ = Comm(MPI_COMM_WORLD);
    try {
      refuse_singletons(comm_.size());
    } catch (...) {
      MPI_Finalize();
      throw;
    }
  }
  ~Session() { MPI_Finalize(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Comm& comm() const { return comm_; }

 private:
  Comm comm_;
};

int report(ExitCode code, const std::string& message, ErrorScope scope) {
  int rank = 0, size = 1;
  if (mpi_running()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  const bool shared = scope == ErrorScope::everywhere || size == 1;
  // Processes that do not know each other (before MPI starts, or singletons) still print once: by the launcher's rank.
  const int printing_rank = size > 1 ? rank : launcher_rank();
  if (!shared)
    fmt::print(stderr, "mhdsim: error on rank {}: {}\n", rank, message);
  else if (printing_rank == 0)
    fmt::print(stderr, "mhdsim: error: {}\n", message);
  std::fflush(stdout);
  std::fflush(stderr);
  if (!shared) MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  return static_cast<int>(code);
}

}  // namespace

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  // MPICH answers with a page; its first line is "MPICH Version:\t4.0.2".
  std::string line(text, static_cast<std::size_t>(length));
  line = line.substr(0, line.find('\n'));
  std::string words;
  for (const char c : line) {
    if (c == '\t' || c == ' ') {
      if (!words.empty() && words.back() != ' ') words += ' ';
    } else {
      words += c;
    }
  }
  if (const auto at = words.find(" Version:"); at != std::string::npos) words.erase(at, 9);
  return words;
}

int launcher_rank() {
  for (const Launcher& l : launchers)
    if (const auto rank = environment_integer(l.rank)) return *rank;
  return 0;
}

int exit_code_of(const std::function<int()>& command) {
  try {
    return command();
  } catch (const Error& e) {
    return report(e.code(), e.what(), e.scope());
  } catch (const std::bad_alloc&) {
    return report(ExitCode::internal, "out of memory ('mhdsim check' prints what a run needs)", ErrorScope::here);
  } catch (const std::filesystem::filesystem_error& e) {
    return report(ExitCode::io, filesystem_text(e), ErrorScope::here);
  } catch (const std::exception& e) {
    return report(ExitCode::internal, fmt::format("internal fault: {}", e.what()), ErrorScope::here);
  }
}

int run_with_mpi(int argc, char** argv, const std::function<void()>& prepare,
                 const std::function<int(const Comm&)>& command) {
  std::optional<Error> failure;
  int code = 0;
  try {
    prepare();
  } catch (const Error& e) {
    if (launcher_size() == 1) throw;
    failure = e;
    code = report(e.code(), e.what(), e.scope());  // now: where there is something wrong, MPI_Init may fail as well
  }
  std::optional<Session> session;
  try {
    session.emplace(argc, argv);
  } catch (const Error&) {
    if (!failure) throw;
    return code;
  }
  // Inside the session: its end waits for all ranks, which a rank that fails alone must not do.
  return exit_code_of([&] {
    const Comm& comm = session->comm();
    const std::int64_t first_failed = comm.minimum(std::int64_t{failure ? comm.rank() : comm.size()});
    if (first_failed == 0) return static_cast<int>(comm.maximum(std::int64_t{code}));  // rank 0 has reported
    agree(comm, [&] {
      if (failure) throw Error(*failure);
    });
    return command(comm);
  });
}

}  // namespace mhd
