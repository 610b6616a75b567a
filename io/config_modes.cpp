#include "io/config_modes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/nearest_name.hpp"

namespace mhd {
namespace {

/// Reads the tables of a list, each by the same keys.
template <class Owner>
void read_tables(const ConfigReader& in, const std::vector<ConfigEntry<Owner>>& keys, std::vector<Owner>& value) {
  const auto* array = in.node().as_array();
  if (array == nullptr) return in.expected("a list of tables");
  std::vector<std::string> names;
  for (const auto& key : keys) names.push_back(key.name);

  value.assign(array->size(), Owner{});
  for (std::size_t i = 0; i < array->size(); ++i) {
    const ConfigReader element = in.element(i);
    const auto* table = element.node().as_table();
    if (table == nullptr) {
      element.expected("a table with " + config_list(names, false, "and"));
      continue;
    }
    for (const auto& [given, node] : *table) {
      const ConfigReader child = element.child(node, given.str());
      const auto key = std::find_if(keys.begin(), keys.end(), [&](const auto& k) { return k.name == given.str(); });
      if (key != keys.end())
        key->set(child, value[i]);
      else
        child.reject("unknown key, " + name_hint(std::string(given.str()), names));
    }
    for (const auto& key : keys)
      if (key.required && !table->contains(key.name))
        element.reject(fmt::format("expected the key {} ({}), found none", key.name, key.type));
  }
}

template <class Owner>
std::string write_table(const std::vector<ConfigEntry<Owner>>& keys, const Owner& owner) {
  std::string text;
  for (const auto& key : keys)
    if (const auto value = key.get(owner)) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key.name, *value);
  return "{ " + text + " }";
}

}  // namespace

void Codec<std::vector<Mode>>::read(const ConfigReader& in, const ConfigRange&, std::vector<Mode>& value) {
  read_tables(in, mode_keys(), value);
}
void Codec<std::vector<WaveFactor>>::read(const ConfigReader& in, const ConfigRange&, std::vector<WaveFactor>& value) {
  read_tables(in, wave_factor_keys(), value);
}

std::optional<std::string> Codec<std::vector<Mode>>::write(const std::vector<Mode>& value) {
  if (value.empty()) return "[]";
  std::string text;  // one mode a line
  for (const Mode& mode : value) text += "  " + write_table(mode_keys(), mode) + ",\n";
  return "[\n" + text + "]";
}
std::optional<std::string> Codec<std::vector<WaveFactor>>::write(const std::vector<WaveFactor>& value) {
  std::string text;
  for (const WaveFactor& factor : value) text += (text.empty() ? "" : ", ") + write_table(wave_factor_keys(), factor);
  return "[" + text + "]";
}

ConfigEntry<WaveFactor> function_entry() {
  static const std::vector<std::string> words{"sin", "cos"};
  ConfigEntry<WaveFactor> e;
  e.name = "function";
  e.type = "string";
  e.range = config_list(words, true);
  e.description = "Function of 2 pi wave.(x - origin)/size + phase.";
  e.required = true;
  e.set = [](const ConfigReader& in, WaveFactor& factor) {
    if (const auto i = read_choice(in, words)) factor.cosine = *i == 1;
  };
  e.get = [](const WaveFactor& factor) { return toml_text(words[factor.cosine ? 1 : 0]); };
  return e;
}

}  // namespace mhd
