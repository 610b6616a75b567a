#include "io/agree.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <new>
#include <string>

#include "core/error.hpp"
#include "io/file.hpp"

namespace mhd {

void agree(const Comm& comm, const std::function<void()>& action) {
  std::string failure;
  ExitCode code = ExitCode::internal;
  bool failed = false;
  try {
    action();
  } catch (const Error& error) {
    failed = true;
    code = error.code();
    failure = error.what();
  } catch (const std::bad_alloc&) {
    failed = true;
    failure = "out of host memory";
  } catch (const std::filesystem::filesystem_error& error) {
    failed = true;
    code = ExitCode::io;
    failure = filesystem_text(error);
  } catch (const std::exception& error) {
    failed = true;
    failure = error.what();
  }

  const std::int64_t first = comm.minimum(std::int64_t{failed ? comm.rank() : comm.size()});
  if (first == comm.size()) return;
  const int from = static_cast<int>(first);
  const std::string text = comm.broadcast(failure, from);
  const std::string code_text = comm.broadcast(std::to_string(static_cast<int>(code)), from);
  int value = static_cast<int>(ExitCode::internal);
  std::from_chars(code_text.data(), code_text.data() + code_text.size(), value);
  throw Error(static_cast<ExitCode>(value), comm.size() > 1 ? fmt::format("{} (rank {})", text, from) : text,
              ErrorScope::everywhere);
}

}  // namespace mhd
