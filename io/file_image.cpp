#include "io/file_image.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "io/file.hpp"

namespace mhd {

FileImage::FileImage(const std::string& path) : path_(path), descriptor_(::memfd_create("mhdsim", MFD_CLOEXEC)) {
  if (descriptor_ < 0) throw_file_error("make an image in memory of", path, errno);
}

FileImage::FileImage(FileImage&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      forgotten_from_(other.forgotten_from_),
      forgotten_to_(other.forgotten_to_) {}

FileImage::~FileImage() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string FileImage::place() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

std::int64_t FileImage::size() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) throw_file_error("examine the image in memory of", path_, errno);
  return status.st_size;
}

void FileImage::copy_to(OutputFile& file) const {
  std::vector<char> block(std::size_t{1} << 20);
  for (off_t from = 0; (from = ::lseek(descriptor_, from, SEEK_DATA)) >= 0;) {
    const off_t end = ::lseek(descriptor_, from, SEEK_HOLE);
    while (from < end) {
      const auto wanted = std::min<std::size_t>(block.size(), static_cast<std::size_t>(end - from));
      const ssize_t count = ::pread(descriptor_, block.data(), wanted, from);
      if (count <= 0) throw_file_error("read the image in memory of", path_, count == 0 ? EIO : errno);
      file.write(block.data(), count, from);
      from += count;
    }
  }
  if (errno != ENXIO) throw_file_error("read the image in memory of", path_, errno);  // ENXIO: nothing but holes
}

void FileImage::forget(std::int64_t offset, std::int64_t bytes) {
  constexpr std::int64_t page = 65536;  // a multiple of the pages of all machines
  if (offset != forgotten_to_) forgotten_from_ = offset;
  forgotten_to_ = offset + bytes;
  const std::int64_t first = (forgotten_from_ + page - 1) / page * page, end = forgotten_to_ / page * page;
  if (first >= end) return;
  if (::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, first, end - first) == 0)
    forgotten_from_ = end;  // else it only takes more memory
}

}  // namespace mhd
