#include "io/seal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "io/checksum.hpp"
#include "io/file.hpp"

namespace mhd {
namespace {

constexpr std::string_view first_line = "mhdsim checkpoint seal 1";

/// A file read and written at given places.
class Bytes {
 public:
  Bytes(const std::string& path, const char* mode) : path_(path), file_(std::fopen(path.c_str(), mode)) {
    if (!file_) throw_file_error("open", path, errno);
  }
  std::int64_t size() {
    if (::fseeko(file_.get(), 0, SEEK_END) != 0) throw_file_error("read", path_, errno);
    return ::ftello(file_.get());
  }
  std::string read(std::int64_t offset, std::int64_t count) {
    std::string block(static_cast<std::size_t>(count), '\0');
    seek(offset);
    if (std::fread(block.data(), 1, block.size(), file_.get()) != block.size())
      throw_file_error("read", path_, std::ferror(file_.get()) ? errno : EIO);
    return block;
  }
  void write(std::int64_t offset, const std::string& block) {
    seek(offset);
    if (std::fwrite(block.data(), 1, block.size(), file_.get()) != block.size() || std::fflush(file_.get()) != 0)
      throw_file_error("write", path_, errno);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void seek(std::int64_t offset) {
    if (::fseeko(file_.get(), offset, SEEK_SET) != 0) throw_file_error("read", path_, errno);
  }
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Of what lies before the seal, up to `size`, and outside of the fields.
std::uint64_t checksum_of_the_rest(Bytes& file, std::int64_t size, std::span<const FileRange> fields) {
  constexpr std::int64_t block = 1 << 20;
  std::uint64_t sum = 0;
  const auto add = [&](std::int64_t from, std::int64_t to) {
    for (; from < to; from += block) sum = bytes_checksum(file.read(from, std::min(block, to - from)), sum);
  };
  std::int64_t from = 0;
  for (const FileRange& field : fields) {
    add(from, field.offset);
    from = field.offset + field.bytes;
  }
  add(from, size);
  return sum;
}

struct Seal {
  std::int64_t size = 0;  ///< of the file without it
  std::uint64_t rest = 0;
  std::vector<FileRange> fields;
};

std::string text_of(const Seal& seal) {
  std::string text = fmt::format("{}\nbytes {}\nchecksum {:016x}\n", first_line, seal.size, seal.rest);
  for (const FileRange& field : seal.fields) text += fmt::format("field {} {}\n", field.offset, field.bytes);
  text += fmt::format("end {:016x}\n", bytes_checksum(text));
  text.resize(static_cast<std::size_t>(seal_bytes), '\0');
  return text;
}

/// Nothing is accepted but what text_of would write.
Seal parse(const std::string& block, const std::string& path) {
  Seal seal;
  std::istringstream lines(block);
  std::string line, word;
  std::getline(lines, line);
  if (line != first_line)
    throw Error(ExitCode::io, fmt::format("{} is truncated, damaged at its end, or not a checkpoint", path));
  while (lines >> word && word != "end") {
    if (word == "bytes") lines >> seal.size;
    if (word == "checksum") lines >> std::hex >> seal.rest >> std::dec;
    if (word == "field") {
      FileRange field;
      lines >> field.offset >> field.bytes;
      seal.fields.push_back(field);
    }
  }
  if (seal.fields.size() > 8 || text_of(seal) != block)
    throw Error(ExitCode::io, fmt::format("{} is damaged within its last {} bytes", path, seal_bytes));
  return seal;
}

}  // namespace

void seal_file(const std::string& path, std::span<const FileRange> fields) {
  Bytes file(path, "r+be");
  Seal seal{file.size(), 0, {fields.begin(), fields.end()}};
  seal.rest = checksum_of_the_rest(file, seal.size, fields);
  file.write(seal.size, text_of(seal));
}

void require_seal(const std::string& path) {
  Bytes file(path, "rbe");
  const std::int64_t size = file.size() - seal_bytes;
  const Seal seal = parse(size < 0 ? "" : file.read(size, seal_bytes), path);
  if (size != seal.size)
    throw Error(ExitCode::io, fmt::format("{} is damaged: expected {} bytes, found {}", path, seal.size + seal_bytes,
                                          size + seal_bytes));
  if (checksum_of_the_rest(file, size, seal.fields) != seal.rest)
    throw Error(ExitCode::io,
                fmt::format("{} is damaged: the checksum of its header and structure does not match", path));
}

}  // namespace mhd
