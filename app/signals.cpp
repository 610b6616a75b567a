#include "app/signals.hpp"

#include <signal.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace mhd {
namespace {

constexpr std::array<int, 3> stop_signals = {SIGTERM, SIGINT, SIGUSR1};
constexpr std::int64_t repeated_within = 2'000'000'000;  // nanoseconds

std::atomic<int> first_signal{0};
std::atomic<std::int64_t> first_time{0};
std::array<struct sigaction, stop_signals.size()> earlier_actions;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

// Calls nothing but what a signal handler may.
extern "C" void mhd_on_stop_signal(int signal) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t nanoseconds = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  int none = 0;
  if (first_signal.compare_exchange_strong(none, signal)) {
    first_time = nanoseconds;
  } else if (nanoseconds - first_time > repeated_within) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // delivered on return from here
  }
}

}  // namespace

StopSignals::StopSignals() {
  first_signal = 0;
  struct sigaction action {};
  action.sa_handler = mhd_on_stop_signal;
  action.sa_flags = SA_RESTART;  // reading and writing files goes on
  for (std::size_t i = 0; i < stop_signals.size(); ++i) ::sigaction(stop_signals[i], &action, &earlier_actions[i]);
}

StopSignals::~StopSignals() {
  // A launcher's copies of a request may come while the run is ending: they must not end it as "terminated".
  if (first_signal != 0) return;
  for (std::size_t i = 0; i < stop_signals.size(); ++i) ::sigaction(stop_signals[i], &earlier_actions[i], nullptr);
}

int StopSignals::received() { return first_signal; }

std::string signal_text(int signal) {
  if (signal == SIGTERM) return "SIGTERM";
  if (signal == SIGINT) return "SIGINT";
  return signal == SIGUSR1 ? "SIGUSR1" : "signal " + std::to_string(signal);
}

}  // namespace mhd
