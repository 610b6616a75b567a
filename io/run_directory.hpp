#pragma once
// The directory of one run: created, locked against a second process, and free of the outputs of earlier runs.

#include <cstdint>
#include <string>
#include <string_view>

namespace mhd {

/// For rank 0 alone; the caller agrees on errors. Throws Error(io).
class RunDirectory {
 public:
  /// Creates the directory with its parents and locks it. Outputs of an earlier run in it are an error, or, with
  /// `overwrite`, removed: exactly the files that mhdsim writes, nothing else.
  RunDirectory(const std::string& path, bool overwrite);
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
