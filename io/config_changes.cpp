#include "io/config_changes.hpp"

namespace mhd {

std::vector<ConfigChange> config_changes(const Config& before, const Config& after) {
  std::vector<ConfigChange> changes;
  for (const ConfigKey& key : config_keys()) {
    const std::string absent = "not set";
    const std::string a = key.get(before).value_or(absent), b = key.get(after).value_or(absent);
    if (a != b) changes.push_back({&key, a, b});
  }
  return changes;
}

}  // namespace mhd
