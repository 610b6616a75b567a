#pragma once
// The directory of one run: created, locked against a second process, and free of the outputs of earlier runs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mhd {

/// What becomes of the outputs of an earlier run: they are an error; or removed; or this run goes on with them.
enum class EarlierRun { refuse, replace, keep };

/// A file whose name has the number of a step.
struct StepFile {
  std::int64_t step = 0;
  std::string path;
};

/// The checkpoints in a directory, the newest first; none where there is no directory. Throws Error(io).
std::vector<StepFile> checkpoints_in(const std::string& directory);

/// For rank 0 alone; the caller agrees on errors. Throws Error(io).
class RunDirectory {
 public:
  /// Creates the directory with its parents and locks it. Outputs are exactly the files that mhdsim writes, nothing
  /// else.
  RunDirectory(const std::string& path, EarlierRun earlier);
  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&& other) noexcept;
  ~RunDirectory();

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + '/' + std::string(name); }
  std::string series() const { return file("series.csv"); }
  std::string timing() const { return file("timing.csv"); }
  std::string summary() const { return file("summary.toml"); }
  std::string xdmf() const { return file("snapshots.xdmf"); }
  std::string config() const { return file("config.toml"); }
  /// snapshot_00000120.h5
  std::string snapshot(std::int64_t step) const;
  /// checkpoint_00000120.h5
  std::string checkpoint(std::int64_t step) const;
  /// Files by which the user asks a running simulation for something.
  std::string stop_request() const { return file("STOP"); }
  std::string reload_request() const { return file("RELOAD"); }

  /// Makes the directory what it was when the run had come to `step`: removes later checkpoints, snapshots from that
  /// step on, unfinished files and the summary. Returns the snapshots that stay, by step.
  std::vector<StepFile> go_back_to(std::int64_t step) const;

  /// Writes config.toml, marked as mhdsim's own.
  void write_config(std::string_view resolved) const;

  /// Empty where the lock is held; else why this file system cannot keep a second process out.
  const std::string& lock_warning() const { return lock_warning_; }

 private:
  void lock();

  std::string path_;
  std::string lock_warning_;
  int lock_ = -1;  ///< descriptor of .lock; the kernel drops the lock when it closes, also when the process dies
};

}  // namespace mhd
