#pragma once
// A file written at given places by this process. Every error is an Error(io) with the path and the system's reason.

#include <cstdint>
#include <string>

namespace mhd {

class OutputFile {
 public:
  enum class Start { anew, existing };
  OutputFile(const std::string& path, Start start);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(const void* data, std::int64_t bytes, std::int64_t offset);
  /// Throws where this process may not write files of so many bytes (`ulimit -f`).
  void require_allowed(std::int64_t bytes) const;
  /// Gives the file at least this size and reserves its space, so that a full disk or quota is an error now and not in
  /// the middle of a collective write. Reserves nothing on file systems that cannot.
  void reserve(std::int64_t bytes);
  void resize(std::int64_t bytes);
  void sync();
  /// The destructor closes as well, but cannot report what a network file system says only then.
  void close();

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace mhd
