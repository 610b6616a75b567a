#pragma once
// The difference of two configurations, key by key.

#include <string>
#include <vector>

#include "io/config_schema.hpp"

namespace mhd {

struct ConfigChange {
  const ConfigKey* key;
  std::string before, after;  ///< as TOML; "not set" where there is no value
};

/// The keys whose values differ, in the order of the documentation.
std::vector<ConfigChange> config_changes(const Config& before, const Config& after);

}  // namespace mhd
