#include "io/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/file.hpp"

namespace mhd {
namespace {

constexpr std::int64_t most_at_once = std::int64_t{1} << 30;  // Linux takes a little less than 2 GiB
constexpr std::int64_t worth_a_hint = std::int64_t{1} << 20;

}  // namespace

OutputFile::OutputFile(const std::string& path, Start start)
    : path_(path),
      descriptor_(::open(path.c_str(), O_RDWR | O_CLOEXEC | (start == Start::anew ? O_CREAT | O_TRUNC : 0), 0666)) {
  if (descriptor_ < 0) throw_file_error(start == Start::anew ? "create" : "open", path, errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(const void* data, std::int64_t bytes, std::int64_t offset) {
  const char* from = static_cast<const char*>(data);
  const std::int64_t begin = offset, length = bytes;
  while (bytes > 0) {
    const ssize_t written = ::pwrite(descriptor_, from, static_cast<std::size_t>(std::min(bytes, most_at_once)),
                                     static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw_file_error("write", path_, written == 0 ? ENOSPC : errno);
    from += written;
    offset += written;
    bytes -= written;
  }
  // The disk may begin at once, while the next values are gathered, instead of at `sync`. Only a hint: `sync` reports
  // what goes wrong.
  if (length >= worth_a_hint) static_cast<void>(::sync_file_range(descriptor_, begin, length, SYNC_FILE_RANGE_WRITE));
}

void OutputFile::require_allowed(std::int64_t bytes) const {
  // Linux sends a signal, which ends the process, for a write beyond this limit.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (static_cast<rlim_t>(bytes) > limit.rlim_cur)
    throw_file_error(fmt::format("write up to {} bytes into", bytes), path_, EFBIG);
}

void OutputFile::reserve(std::int64_t bytes) {
  require_allowed(bytes);
  int result;
  do {
    // Not posix_fallocate: where the file system cannot reserve, that writes the whole file once for nothing.
    result = ::fallocate(descriptor_, 0, 0, bytes);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return;
  if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
    throw_file_error(fmt::format("reserve {} bytes for", bytes), path_, errno);
  resize(bytes);
}

void OutputFile::resize(std::int64_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) throw_file_error("resize", path_, errno);
}

void OutputFile::sync() {
  if (::fsync(descriptor_) != 0) throw_file_error("sync", path_, errno);
}

void OutputFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) throw_file_error("close", path_, errno);
}

}  // namespace mhd
