#pragma once
// What the command line of `mhdsim run` says besides the configuration.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/config.hpp"

namespace mhd {

struct RunOptions {
  bool overwrite = false;
  std::string restart;                       ///< "latest", a checkpoint, or empty: from the initial condition
  std::vector<std::string> allow_change;     ///< keys or tables that may differ from those of the checkpoint
  std::optional<double> time_limit_seconds;  ///< since `started`
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();  ///< of the process
  std::function<Config()> reload;                                                    ///< reads the configuration again
};

/// Seconds of "1:30:00" or, with days in front, "2-12:00:00"; nothing for any other text.
std::optional<double> duration_seconds(const std::string& text);

}  // namespace mhd
