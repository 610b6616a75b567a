#include "io/run_directory.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "io/file.hpp"

namespace mhd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view config_mark = "# Resolved configuration, written by mhdsim\n";
constexpr std::array<std::string_view, 4> output_names = {"series.csv", "timing.csv", "summary.toml", "snapshots.xdmf"};

bool starts_with_mark(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string start(config_mark.size(), '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  return stream && start == config_mark;
}

constexpr std::string_view snapshot_prefix = "snapshot_", checkpoint_prefix = "checkpoint_", suffix = ".h5";

std::string step_file_name(std::string_view prefix, std::int64_t step) {
  return fmt::format("{}{:08}{}", prefix, step, suffix);
}

/// The step of snapshot_00000120.h5; nothing for another name.
std::optional<std::int64_t> step_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size()) return {};
  const auto number = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), step);
  if (error != std::errc{} || end != number.data() + number.size() || step < 0) return {};
  return step;
}

bool is_output(const fs::path& file) {
  std::string name = file.filename().string();
  const std::string partial_suffix = partial_name("");
  if (name.ends_with(partial_suffix)) name.resize(name.size() - partial_suffix.size());
  if (name == "config.toml") return starts_with_mark(file);
  return step_of(name, snapshot_prefix) || step_of(name, checkpoint_prefix) ||
         std::find(output_names.begin(), output_names.end(), name) != output_names.end();
}

std::vector<fs::path> files_in(const std::string& directory, bool (*wanted)(const fs::path&)) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    if (entry->is_regular_file() && wanted(entry->path())) found.push_back(entry->path());
  if (error) throw_file_error("list directory", directory, error.value());
  std::sort(found.begin(), found.end());
  return found;
}

/// By step.
std::vector<StepFile> step_files_in(const std::string& directory, std::string_view prefix) {
  std::vector<StepFile> files;
  for (const fs::path& file : files_in(directory, [](const fs::path&) { return true; }))
    if (const auto step = step_of(file.filename().string(), prefix)) files.push_back({*step, file.string()});
  std::sort(files.begin(), files.end(), [](const StepFile& a, const StepFile& b) { return a.step < b.step; });
  return files;
}

void remove_file(const std::string& file) {
  std::error_code error;
  fs::remove(file, error);
  if (error) throw_file_error("remove", file, error.value());
}

void create_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw_file_error("create directory", path, error.value());
  if (!fs::is_directory(path, error)) throw_file_error("use as run directory", path, ENOTDIR);
}

void clear_outputs(const std::string& directory, EarlierRun earlier) {
  if (earlier == EarlierRun::keep) return;
  const auto outputs = files_in(directory, is_output);
  if (outputs.empty()) return;
  if (earlier == EarlierRun::refuse)
    throw Error(ExitCode::io, fmt::format("{} holds {} file(s) of an earlier run ({}{}): continue it with --restart "
                                          "latest, replace them with --overwrite, or choose another directory",
                                          directory, outputs.size(), outputs.front().filename().string(),
                                          outputs.size() > 1 ? ", ..." : ""));
  for (const fs::path& file : outputs) remove_file(file.string());
}

std::string holder(int descriptor) {
  std::array<char, 128> text{};
  const ssize_t length = ::pread(descriptor, text.data(), text.size(), 0);
  std::string result(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  while (!result.empty() && result.back() == '\n') result.pop_back();
  return result.empty() ? "a process that has not said which" : result;
}

}  // namespace

RunDirectory::RunDirectory(const std::string& path, EarlierRun earlier) : path_(path) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  create_directory(path_);
  lock();
  try {
    if (fs::exists(config()) && !starts_with_mark(config()))
      throw Error(ExitCode::io, fmt::format("{} was not written by mhdsim and would be replaced by the resolved "
                                            "configuration: choose another output directory or rename the file",
                                            config()));
    clear_outputs(path_, earlier);
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      lock_warning_(std::move(other.lock_warning_)),
      lock_(std::exchange(other.lock_, -1)) {}

RunDirectory& RunDirectory::operator=(RunDirectory&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_warning_, other.lock_warning_);
  std::swap(lock_, other.lock_);
  return *this;
}

RunDirectory::~RunDirectory() {
  // The file stays: removing it would let a third process lock a new one while a second waits on the old.
  if (lock_ >= 0) ::close(lock_);
}

void RunDirectory::lock() {
  const std::string name = file(".lock");
  lock_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ < 0) throw_file_error("create", name, errno);
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    if (reason == EWOULDBLOCK) {
      const std::string who = holder(lock_);
      ::close(lock_);
      throw Error(ExitCode::io, fmt::format("run directory {} is in use by {} (lock {}): two runs must not write into "
                                            "one directory",
                                            path_, who, name));
    }
    lock_warning_ = fmt::format("the file system of {} has no file locks ({}): nothing keeps a second run out of it",
                                path_, std::strerror(reason));
  }
  const std::string text =
      fmt::format("process {}, started {:%Y-%m-%d %H:%M:%S} UTC\n", ::getpid(), fmt::gmtime(std::time(nullptr)));
  errno = ENOSPC;  // a write that takes only a part of so few bytes says no more
  if (::ftruncate(lock_, 0) != 0 || ::pwrite(lock_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    const int reason = errno;
    ::close(lock_);
    throw_file_error("write", name, reason);
  }
}

std::string RunDirectory::snapshot(std::int64_t step) const { return file(step_file_name(snapshot_prefix, step)); }
std::string RunDirectory::checkpoint(std::int64_t step) const { return file(step_file_name(checkpoint_prefix, step)); }

std::vector<StepFile> RunDirectory::go_back_to(std::int64_t step) const {
  // Later checkpoints first: a restart from one of them would miss what is removed next.
  for (const StepFile& checkpoint : step_files_in(path_, checkpoint_prefix))
    if (checkpoint.step > step) remove_file(checkpoint.path);
  remove_file(summary());
  for (const fs::path& file : files_in(path_, is_output))
    if (file.string().ends_with(partial_name(""))) remove_file(file.string());
  std::vector<StepFile> kept;
  for (const StepFile& snapshot : step_files_in(path_, snapshot_prefix)) {
    if (snapshot.step < step)
      kept.push_back(snapshot);
    else
      remove_file(snapshot.path);
  }
  return kept;
}

std::vector<StepFile> checkpoints_in(const std::string& directory) {
  if (!fs::is_directory(directory)) return {};
  std::vector<StepFile> files = step_files_in(directory, checkpoint_prefix);
  std::reverse(files.begin(), files.end());
  return files;
}

void RunDirectory::write_config(std::string_view resolved) const {
  write_file_atomically(config(), std::string(config_mark) + std::string(resolved));
}

}  // namespace mhd
