// The Markdown of docs/configuration.md that follows from the schema.

#include <fmt/format.h>

#include "io/config_schema.hpp"

namespace mhd {
namespace {

std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return escaped.empty() ? "-" : escaped;
}

template <class Owner>
std::string default_of(const ConfigEntry<Owner>& e) {
  if (e.required) return "required";
  const auto value = e.get(Owner{});
  return value ? "`" + *value + "`" : "not given: " + e.absent;
}

template <class Owner>
std::string row(const ConfigEntry<Owner>& e, const std::string& key, const std::string& change = "") {
  return fmt::format("| `{}` | {} | {} | {} | {} | {}{} |\n", key, cell(e.type), cell(default_of(e)), cell(e.unit),
                     cell(e.range), change, cell(e.description));
}

std::string head(const std::string& title, bool changes) {
  return fmt::format(
      "\n### `{}`\n\n| key | type | default | unit | values |{} meaning |\n|---|---|---|---|---|{}---|\n", title,
      changes ? " change |" : "", changes ? "---|" : "");
}

const char* change_text(KeyChange change) {
  if (change == KeyChange::running) return "any time | ";
  return change == KeyChange::restart ? "restart | " : "- | ";
}

}  // namespace

std::string configuration_reference() {
  std::string text, table;
  for (const ConfigKey& key : config_keys()) {
    if (config_table(key.name) != table) {
      table = config_table(key.name);
      text += head("[" + table + "]", true);
    }
    text += row(key, config_leaf(key.name), change_text(key.change));
  }
  text += head("[[initial.modes]]", false);
  for (const auto& key : mode_keys()) text += row(key, key.name);
  text += head("factors = [{ ... }] of [[initial.modes]]", false);
  for (const auto& key : wave_factor_keys()) text += row(key, key.name);
  return text;
}

}  // namespace mhd
