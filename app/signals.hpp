#pragma once
// Signals that ask a run to stop: SIGTERM, SIGINT, SIGUSR1.

#include <string>

namespace mhd {

/// While this lives, the first such signal is remembered. Another one ends the process at once, if it comes more than a
/// second later: launchers and terminals deliver the same request twice.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that this process got; 0: none.
  static int received();
};

/// "SIGTERM"
std::string signal_text(int signal);

}  // namespace mhd
