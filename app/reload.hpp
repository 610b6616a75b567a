#pragma once
// A running simulation takes over keys of its configuration file.

#include <functional>
#include <optional>
#include <string>

#include "core/comm.hpp"
#include "core/config.hpp"

namespace mhd {

struct Reloaded {
  std::optional<Config> config;  ///< of the run from here on; nothing where it stays as it is
  std::string text;              ///< lines to be told, on rank 0
};

/// Collective: rank 0 reads the configuration by `load`. Keys that may change while a run goes on take their new
/// values; those that may not keep theirs, and are named. Mistakes in the file leave everything as it is.
Reloaded reload(const Config& now, const std::function<Config()>& load, const Comm& comm);

}  // namespace mhd
