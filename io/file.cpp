#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "io/system_error.hpp"

namespace mhd {
namespace {

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) throw_file_error("open", path, errno);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { ::close(fd_); }
  int get() const { return fd_; }

 private:
  int fd_;
};

void sync_directory(const std::string& file) {
  const auto parent = std::filesystem::path(file).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  const Descriptor descriptor(directory, O_RDONLY | O_DIRECTORY);
  // Some file systems cannot sync a directory and say EINVAL; there the rename is as durable as it gets.
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) throw_file_error("sync directory", directory, errno);
}

/// False where there is no table to go on with.
bool cut_back(const std::string& path, const std::string& header, std::int64_t last) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || file.eof()) return false;  // killed before its first line was complete
  if (line != header)
    throw Error(ExitCode::io, fmt::format("{}: expected the columns {}, found {}", path, header, line));
  std::uintmax_t kept = line.size() + 1;
  while (std::getline(file, line) && !file.eof()) {
    std::int64_t step = 0;
    const auto [end, fault] = std::from_chars(line.data(), line.data() + line.size(), step);
    if (fault != std::errc{} || *end != ',' || step > last) break;
    kept += line.size() + 1;
  }
  if (file.bad()) throw_file_error("read", path, errno);
  std::filesystem::resize_file(path, kept, error);
  if (error) throw_file_error("shorten", path, error.value());
  return true;
}

}  // namespace

void throw_file_error(const std::string& operation, const std::string& path, int error_number) {
  throw Error(ExitCode::io, fmt::format("cannot {} {}: {}", operation, path, system_error_text(error_number)));
}

std::string filesystem_text(const std::filesystem::filesystem_error& error) {
  return fmt::format("cannot use {}: {}", error.path1().string(), system_error_text(error.code().value()));
}

std::string partial_name(const std::string& path) { return path + ".partial"; }

void publish_file(const std::string& partial, const std::string& path) {
  {
    const Descriptor descriptor(partial, O_RDWR);
    if (::fsync(descriptor.get()) != 0) throw_file_error("sync", partial, errno);
  }
  if (std::rename(partial.c_str(), path.c_str()) != 0) throw_file_error("rename to", path, errno);
  sync_directory(path);
}

void write_file_atomically(const std::string& path, std::string_view text) {
  const std::string partial = partial_name(path);
  try {
    TextWriter file(partial);
    file.write(text);
    file.close();
    publish_file(partial, path);
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
}

std::int64_t file_bytes(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw_file_error("examine", path, errno);
  return status.st_size;
}

TextWriter::TextWriter(const std::string& path, Start start)
    : path_(path), file_(std::fopen(path.c_str(), start == Start::anew ? "we" : "ae")) {
  if (!file_) throw_file_error("create", path, errno);
}

void TextWriter::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) throw_file_error("write", path_, errno);
}

void TextWriter::flush() {
  if (std::fflush(file_.get()) != 0) throw_file_error("write", path_, errno);
}

void TextWriter::sync() {
  flush();
  // EINVAL: not a file that can be synchronised, such as a pipe.
  if (::fsync(::fileno(file_.get())) != 0 && errno != EINVAL) throw_file_error("sync", path_, errno);
}

void TextWriter::close() {
  if (!file_) return;
  flush();
  if (std::fclose(file_.release()) != 0) throw_file_error("close", path_, errno);
}

TextWriter open_table(const std::string& path, const std::string& header, std::optional<std::int64_t> last) {
  if (last && cut_back(path, header, *last)) return TextWriter(path, TextWriter::Start::append);
  TextWriter file(path);
  file.write(header + '\n');
  file.flush();
  return file;
}

}  // namespace mhd
