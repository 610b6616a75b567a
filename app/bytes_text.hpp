#pragma once
// Byte counts for people.

#include <fmt/core.h>

#include <string>

namespace mhd {

/// "12 B", "3.45 MiB"
inline std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 5) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, units[unit]);
}

}  // namespace mhd
