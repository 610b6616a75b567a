#pragma once
// Plain files: complete or absent, and every error with the path and the system's reason (ExitCode::io).

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mhd {

/// "cannot <operation> <path>: <text of errno>" as an Error(io).
[[noreturn]] void throw_file_error(const std::string& operation, const std::string& path, int error_number);

/// The same of an error of the C++ library, which does not say what was attempted in words of ours.
std::string filesystem_text(const std::filesystem::filesystem_error& error);

/// The name a file has until it is complete: path + ".partial", in the same directory so that a rename is atomic.
std::string partial_name(const std::string& path);

/// Makes a closed file durable and gives it its final name: fsync, rename, fsync of the directory.
void publish_file(const std::string& partial, const std::string& path);

/// Replaces a file by `text` so that a reader, or a crash, sees the old content or the new one and nothing between.
void write_file_atomically(const std::string& path, std::string_view text);

/// Throws Error(io).
std::int64_t file_bytes(const std::string& path);

/// A text file written line by line. Errors, a full disk among them, are thrown with the path.
class TextWriter {
 public:
  enum class Start { anew, append };
  explicit TextWriter(const std::string& path, Start start = Start::anew);

  const std::string& path() const { return path_; }
  void write(std::string_view text);
  /// Hands what was written to the operating system.
  void flush();
  /// The same, and makes it durable.
  void sync();
  /// Flushes and closes; the destructor alone cannot report errors.
  void close();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// A table of lines that begin with a step, behind the line `header`. With `last` it goes on with a file that is there:
/// from the first row on that is of a later step, or not complete, everything is removed. Throws Error(io), also where
/// the file has another header.
TextWriter open_table(const std::string& path, const std::string& header, std::optional<std::int64_t> last);

}  // namespace mhd
