// Files in memory, files written at given places, and what errors say.

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "core/error.hpp"
#include "io/file.hpp"
#include "io/file_image.hpp"
#include "io/output_file.hpp"
#include "io/system_error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/temporary_files.hpp"

using namespace mhd;

TEST_CASE("an image in memory puts its bytes where they belong and costs nothing for holes") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.bin");
  constexpr std::int64_t far = std::int64_t{1} << 33;  // 8 GiB
  FileImage image(path);
  {
    OutputFile inside(image.place(), OutputFile::Start::anew);
    inside.write("begin", 5, 0);
    inside.write("end", 3, far);
    inside.close();
  }
  CHECK(image.size() == far + 3);
  OutputFile file(path, OutputFile::Start::anew);
  image.copy_to(file);
  file.close();
  CHECK(file_bytes(path) == far + 3);
  std::ifstream stream(path, std::ios::binary);
  std::string begin(5, ' '), end(3, ' ');
  stream.read(begin.data(), 5);
  stream.seekg(far);
  stream.read(end.data(), 3);
  CHECK(begin == "begin");
  CHECK(end == "end");
}

TEST_CASE("what an image forgets stays in the real file, to the byte") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.bin");
  FileImage image(path);
  OutputFile inside(image.place(), OutputFile::Start::anew), file(path, OutputFile::Start::anew);
  std::string expected;
  // Pieces of all lengths around a page, every third of which the file does not have yet.
  for (int i = 0; i < 40; ++i) {
    const std::string piece(static_cast<std::size_t>(30000 + 977 * i), static_cast<char>('a' + i % 26));
    const auto offset = static_cast<std::int64_t>(expected.size()), bytes = static_cast<std::int64_t>(piece.size());
    inside.write(piece.data(), bytes, offset);
    if (i % 3 != 0) {
      file.write(piece.data(), bytes, offset);
      image.forget(offset, bytes);
    }
    expected += piece;
  }
  image.copy_to(file);
  file.close();
  CHECK(text_of(path) == expected);
}

TEST_CASE("errors of the system say what to do") {
  for (const int number : {ENOSPC, EDQUOT, EROFS, EACCES, EFBIG, EIO, ESTALE}) {
    const std::string text = system_error_text(number);
    CHECK(text.size() > std::string(std::strerror(number)).size() + 10);
    CHECK(error_number_in("MPI says: " + std::string(std::strerror(number)) + "!") == number);
  }
  CHECK(system_error_text(ENOENT) == std::strerror(ENOENT));
  CHECK_FALSE(error_number_in("nothing known"));
  const TemporaryDirectory directory;
  const std::string path = directory.file("missing/a.bin");
  CHECK(contains(message_of([&] { OutputFile(path, OutputFile::Start::anew); }), "cannot create " + path));
  CHECK(contains(message_of([&] { OutputFile(path, OutputFile::Start::existing); }), "cannot open " + path));
  OutputFile full("/dev/full", OutputFile::Start::existing);
  CHECK(contains(message_of([&] { full.write("text", 4, 0); }), "cannot write /dev/full: No space left on device"));
}
