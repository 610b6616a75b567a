#pragma once
// Ends a run that hangs.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace mhd {

/// Ends the process with a message and exit code 1 where the main loop does not get on: another rank is gone or stuck,
/// or the device, the network or the file system hangs, and a call waits for it for ever. The launcher then ends the
/// other ranks. Time in which the whole process is suspended does not count.
class Watchdog {
 public:
  /// `patience` in seconds; 0: never.
  Watchdog(double patience, int rank);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The main loop has got on: this is what it does now, in or after which step. `what` is a literal.
  void now(const char* what, std::int64_t step) {
    what_ = what;
    step_ = step;
    ++signs_of_life_;
  }

 private:
  void watch();
  [[noreturn]] void end_process() const;

  const double patience_;
  const int rank_;
  std::atomic<const char*> what_ = "starting";
  std::atomic<std::int64_t> step_ = 0;
  std::atomic<std::uint64_t> signs_of_life_ = 0;
  std::mutex mutex_;
  std::condition_variable over_;
  bool ended_ = false;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace mhd
