#include "io/system_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace mhd {
namespace {

struct Advice {
  int error_number;
  const char* text;
};

constexpr const char* elsewhere = "choose another run directory with --output, or change its permissions";

constexpr Advice advices[] = {
    {ENOSPC, "free some space there, or choose another place; earlier files are intact, --restart latest goes on"},
    {EDQUOT,
     "remove files or ask for more quota, or choose another place; earlier files are intact, --restart latest "
     "goes on"},
    {EFBIG, "the file system, or 'ulimit -f', allows no larger files: choose another place or raise the limit"},
    {EROFS, "the file system can only be read: choose another run directory with --output"},
    {EACCES, elsewhere},
    {EPERM, elsewhere},
    {EIO,
     "the device or the network reports a fault; earlier files are intact, --restart latest goes on once it works"},
    {ESTALE,
     "the server of the network file system has lost the file; earlier files are intact, --restart latest goes "
     "on"},
    {EMFILE, "'ulimit -n' says how many files a process may open"},
    {ENFILE, "the machine has too many files open"},
    {ENOTDIR, "a part of the path is a file"},
};

}  // namespace

std::string system_error_text(int error_number) {
  for (const Advice& advice : advices)
    if (advice.error_number == error_number) return fmt::format("{} ({})", std::strerror(error_number), advice.text);
  return std::strerror(error_number);
}

std::optional<int> error_number_in(std::string_view message) {
  for (const Advice& advice : advices)
    if (message.find(std::strerror(advice.error_number)) != std::string_view::npos) return advice.error_number;
  return std::nullopt;
}

}  // namespace mhd
