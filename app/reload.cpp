#include "app/reload.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/config_changes.hpp"
#include "io/config_file.hpp"

namespace mhd {
namespace {

/// The new configuration as TOML, empty where it is the old one.
std::string merge(const Config& now, const Config& file, std::string& text) {
  Config merged = now;
  bool changed = false;
  for (const ConfigChange& change : config_changes(now, file)) {
    const bool taken = change.key->change == KeyChange::running;
    text += fmt::format("reload: {} {} {}, {}\n", change.key->name, taken ? "was" : "stays", change.before,
                        taken ? "is " + change.after : change.after + " takes effect in another run only");
    if (taken) change.key->copy(file, merged);
    changed = changed || taken;
  }
  if (!changed) text += "reload: nothing changes\n";
  const auto violations = validate(merged);
  if (violations.empty()) return changed ? to_toml(merged) : "";
  text += "reload: the run goes on as it was, since these values do not fit together:\n";
  for (const Violation& violation : violations) text += fmt::format("  {}: {}\n", violation.key, violation.message);
  return "";
}

}  // namespace

Reloaded reload(const Config& now, const std::function<Config()>& load, const Comm& comm) {
  Reloaded result;
  std::string merged;
  if (comm.root()) {
    try {
      merged = merge(now, load(), result.text);
    } catch (const Error& error) {
      result.text = fmt::format("reload: the run goes on as it was:\n{}\n", error.what());
    }
  }
  merged = comm.broadcast(merged);
  if (!merged.empty()) result.config = parse_config(merged, "reload");
  return result;
}

}  // namespace mhd
