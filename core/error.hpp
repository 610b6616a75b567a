#pragma once
// The one exception type of mhdsim. It carries the exit code; app/main.cpp turns it into one.

#include <stdexcept>
#include <string>

namespace mhd {

/// Exit codes of the executable (documented in docs/usage.md).
enum class ExitCode : int {
  complete = 0,
  internal = 1,       ///< a fault of mhdsim itself
  usage = 2,          ///< command line
  configuration = 3,  ///< the run configuration
  launch = 4,         ///< MPI launch, rank count against grid
  device = 5,         ///< GPU missing, out of device memory
  io = 6,             ///< file or directory
  numerics = 7,       ///< non-finite values, time step collapsed
  difference = 8,     ///< diff or verify found a difference above the bound
  stopped = 9,        ///< a run stopped early, with a checkpoint to continue from
};

/// How far an error is known: `everywhere` means that every rank throws the same error at the same point, so that the
/// job ends in good order and rank 0 alone reports; `here` means that only this rank knows, and the job is aborted.
enum class ErrorScope { here, everywhere };

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message, ErrorScope scope = ErrorScope::here)
      : std::runtime_error(message), code_(code), scope_(scope) {}
  ExitCode code() const { return code_; }
  ErrorScope scope() const { return scope_; }

 private:
  ExitCode code_;
  ErrorScope scope_;
};

}  // namespace mhd
