#pragma once
// What this executable is, for --version, the banner and the files.

#include <string>

#include "io/snapshot.hpp"

namespace mhd {

BuildInfo build_info();

/// The text of `mhdsim --version`.
std::string version_text();

}  // namespace mhd
