#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/error.hpp"

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

}  // namespace

void throw_file_error(const std::string& operation, const std::string& path, int error_number) {
  throw Error(ExitCode::io, fmt::format("cannot {} {}: {}", operation, path, std::strerror(error_number)));
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

void reserve_space(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw_file_error("examine", path, errno);
  reserve_space(path, status.st_size);
}

void reserve_space(const std::string& path, std::int64_t bytes) {
  const Descriptor descriptor(path, O_RDWR | O_CREAT);
  int result;
  do {
    // Not posix_fallocate: where the file system cannot reserve, that writes the whole file once for nothing.
    result = ::fallocate(descriptor.get(), 0, 0, bytes);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
    throw_file_error(fmt::format("reserve {} bytes for", bytes), path, errno);
}

TextWriter::TextWriter(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "we")) {
  if (!file_) throw_file_error("create", path, errno);
}

void TextWriter::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) throw_file_error("write", path_, errno);
}

void TextWriter::flush() {
  if (std::fflush(file_.get()) != 0) throw_file_error("write", path_, errno);
}

void TextWriter::close() {
  if (!file_) return;
  flush();
  if (std::fclose(file_.release()) != 0) throw_file_error("close", path_, errno);
}

}  // namespace mhd
