#include "app/watchdog.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "core/error.hpp"

namespace mhd {
namespace {

constexpr int looks = 10;  ///< within the patience; a suspended process does not look

}  // namespace

Watchdog::Watchdog(double patience, int rank) : patience_(patience), rank_(rank) {
  if (patience_ > 0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  over_.notify_one();
  thread_.join();
}

void Watchdog::watch() {
  std::uint64_t seen = signs_of_life_;
  int without = 0;
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, std::chrono::duration<double>(patience_ / looks), [this] { return ended_; })) {
    const std::uint64_t signs = signs_of_life_;
    without = signs == seen ? without + 1 : 0;
    seen = signs;
    if (without >= looks) end_process();
  }
}

void Watchdog::end_process() const {
  const std::string message = fmt::format(
      "mhdsim: error on rank {}: no progress for {:g} s (run.stall_timeout) while {}, step {}: another rank is gone or "
      "stuck, or the GPU, the network or the file system hangs; continue by --restart latest\n",
      rank_, patience_, what_.load(), step_.load());
  const auto written = write(STDERR_FILENO, message.data(), message.size());
  static_cast<void>(written);
  _exit(static_cast<int>(ExitCode::internal));  // MPI may hang in another thread: its launcher ends the other ranks
}

}  // namespace mhd
