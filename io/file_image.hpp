#pragma once
// A sparse file in memory, under a name that libraries can open. What is laid out in one cannot fail for the disk's
// sake; its contents are then written to the real file by code that can take an error. Holes cost nothing.

#include <cstdint>
#include <string>

#include "io/output_file.hpp"

namespace mhd {

class FileImage {
 public:
  /// Throws Error(io) where the system has no such files. `path` is that of the real file, for messages.
  explicit FileImage(const std::string& path);
  FileImage(FileImage&& other) noexcept;
  FileImage& operator=(FileImage&&) = delete;
  ~FileImage();

  /// The name to open, valid in this process.
  std::string place() const;
  std::int64_t size() const;
  /// Writes all but the holes to the same places of `file`.
  void copy_to(OutputFile& file) const;
  /// Makes holes of bytes that the real file has already, as far as whole pages are covered.
  void forget(std::int64_t offset, std::int64_t bytes);

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t forgotten_from_ = 0, forgotten_to_ = 0;  ///< the last run of bytes
};

}  // namespace mhd
