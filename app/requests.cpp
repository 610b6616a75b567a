#include "app/requests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "app/report.hpp"

namespace mhd {
namespace {

constexpr double talk_seconds = 0.1;  // between agreements, so that steps of microseconds do not wait for messages
constexpr double look_seconds = 0.5;  // between looks for files: some file systems answer slowly
constexpr double checkpoint_safety = 1.5;

// Reasons to stop, beyond the numbers of signals. Where there are several the largest one counts.
constexpr int time_limit = 1000, stop_file = 1001;

double seconds(std::chrono::steady_clock::duration d) { return std::chrono::duration<double>(d).count(); }

bool exists(const std::string& file) {
  std::error_code cannot_tell;
  return std::filesystem::exists(file, cannot_tell);
}

}  // namespace

bool limit_reached(double limit, double passed, double slowest_step, const WriteReserve& writes) {
  return passed + slowest_step + writes.pending + writes.snapshot + checkpoint_safety * writes.checkpoint >= limit;
}

Requests::Requests(const Comm& comm, const RunOptions& options, std::string stop, std::string reload)
    : comm_(comm),
      limit_seconds_(options.time_limit_seconds),
      stop_file_(std::move(stop)),
      reload_file_(std::move(reload)),
      started_(options.started),
      asked_(Clock::now()),
      checkpoint_(asked_) {}

Request Requests::ask(std::int64_t step, double checkpoint_every_seconds, const WriteReserve& writes) {
  const auto now = Clock::now();
  if (last_pass_) slowest_pass_ = std::max(slowest_pass_, seconds(now - *last_pass_));
  last_pass_ = now;
  if (!next_step_) {
    next_step_ = step + 1;
    asked_step_ = step;
    asked_ = now;
  }
  if (step < *next_step_) return {};

  enum { why, checkpoint, reload, steps, count };
  std::array<double, count> wanted{static_cast<double>(StopSignals::received())};
  if (comm_.root()) {
    if (out_of_time(now, writes)) wanted[why] = time_limit;
    wanted[checkpoint] = checkpoint_every_seconds > 0 && seconds(now - checkpoint_) >= checkpoint_every_seconds;
    if (seconds(now - looked_) >= look_seconds) {
      looked_ = now;
      if (exists(stop_file_)) wanted[why] = stop_file;
      std::error_code cannot_remove;
      wanted[reload] = std::filesystem::remove(reload_file_, cannot_remove);
    }
    wanted[steps] = static_cast<double>(steps_until_next(step, now));
  }
  comm_.maximum(wanted);
  asked_ = now;
  asked_step_ = step;
  next_step_ = step + static_cast<std::int64_t>(wanted[steps]);
  const int code = static_cast<int>(wanted[why]);
  if (code > 0) reason_ = code == stop_file ? "STOP file" : code == time_limit ? limit_text_ : signal_text(code);
  return {code > 0, wanted[checkpoint] > 0, wanted[reload] > 0};
}

std::int64_t Requests::steps_until_next(std::int64_t step, Clock::time_point now) const {
  const std::int64_t done = std::max<std::int64_t>(step - asked_step_, 1);
  const double per_step = seconds(now - asked_) / static_cast<double>(done);
  // At most twice as many as last time: one fast step says little.
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(talk_seconds / std::max(per_step, 1e-9)), 1, 2 * done);
}

bool Requests::out_of_time(Clock::time_point now, const WriteReserve& writes) {
  if (!limit_seconds_) return false;
  const double passed = seconds(now - started_);
  // Until the next agreement there are steps for talk_seconds, and perhaps the slowest one.
  if (!limit_reached(*limit_seconds_, passed + talk_seconds, slowest_pass_, writes)) return false;
  limit_text_ = fmt::format(
      "time limit {} (after {:.1f} s: the slowest step took {:.3g} s, a checkpoint up to {:.3g} s, of which 1.5 times "
      "is kept{}{})",
      duration_text(*limit_seconds_), passed, slowest_pass_, writes.checkpoint,
      writes.snapshot > 0 ? fmt::format(", a snapshot up to {:.3g} s", writes.snapshot) : "",
      writes.pending > 0 ? fmt::format(", a file in writing up to {:.3g} s more", writes.pending) : "");
  return true;
}

void Requests::obeyed() const {
  std::error_code not_there;
  if (comm_.root()) std::filesystem::remove(stop_file_, not_there);
}

}  // namespace mhd
