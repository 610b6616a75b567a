#include "io/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include "core/error.hpp"
#include "io/config_codec.hpp"
#include "io/config_problems.hpp"
#include "io/config_schema.hpp"
#include "io/nearest_name.hpp"

namespace mhd {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw Error(ExitCode::configuration, message, ErrorScope::everywhere);
}

std::string read_file(const std::string& path) {
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  const auto failed = [&] {
    fail(fmt::format("{}: cannot read the configuration file: {}", path, std::strerror(errno)));
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) failed();
  std::string text;
  char block[4096];
  while (const std::size_t count = std::fread(block, 1, sizeof(block), file.get())) text.append(block, count);
  if (std::ferror(file.get()) != 0) failed();
  return text;
}

const ConfigKey* find_key(const std::string& name) {
  const auto& keys = config_keys();
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& key) { return key.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys()) names.push_back(key.name);
  return names;
}

/// "grid", "time", ..., "initial.noise".
std::vector<std::string> table_names() {
  std::set<std::string> names;
  for (const ConfigKey& key : config_keys()) names.insert(config_table(key.name));
  return {names.begin(), names.end()};
}

/// Remembers where each value stands, for rules that are checked when all values are known.
void locate(const ConfigReader& in) {
  // A --set argument does not give the tables that its dotted key passes through.
  const bool passes = in.origin().set >= 0 && in.node().is_table() && in.path().find('[') == std::string::npos;
  if (!in.path().empty() && !passes) in.problems().locate(in.path(), in.origin());
  if (const auto* table = in.node().as_table())
    for (const auto& [key, node] : *table) locate(in.child(node, key.str()));
  if (const auto* array = in.node().as_array())
    for (std::size_t i = 0; i < array->size(); ++i) locate(in.element(i));
}

void report_unknown(const ConfigReader& in, const std::vector<std::string>& tables) {
  const std::string& path = in.path();
  const bool is_table = in.node().is_table() || in.node().is_array_of_tables();
  std::vector<std::string> known = key_names();
  if (is_table) known.insert(known.end(), tables.begin(), tables.end());
  if (const auto nearest = nearest_name(path, known)) {
    in.problems().suspect(*nearest);
    return in.reject(fmt::format("unknown {}, the nearest known name is {}", is_table ? "table" : "key", *nearest));
  }
  // Nothing is near: list what the table has, or the tables.
  std::vector<std::string> here;
  for (const ConfigKey& key : config_keys())
    if (!is_table && config_table(key.name) == config_table(path)) here.push_back(config_leaf(key.name));
  const bool in_table = !here.empty();
  in.reject(fmt::format("unknown {}, known {}: {}", is_table ? "table" : "key",
                        in_table ? "keys of [" + config_table(path) + "]" : "tables",
                        config_list(in_table ? here : tables, false, "and")));
}

/// Reads a table into the configuration: keys that the schema has, and the tables below it.
void read_table(const ConfigReader& in, const std::vector<std::string>& tables, Config& config) {
  for (const auto& [name, node] : *in.node().as_table()) {
    const ConfigReader child = in.child(node, name.str());
    if (const ConfigKey* key = find_key(child.path()))
      key->set(child, config);
    else if (std::find(tables.begin(), tables.end(), child.path()) == tables.end())
      report_unknown(child, tables);
    else if (node.is_table())
      read_table(child, tables, config);
    else
      child.expected("a table");
  }
}

/// A document of the file (set = -1) or of a --set argument.
void read_document(const toml::table& document, int set, ConfigProblems& problems, Config& config) {
  const ConfigReader root(document, "", set, problems);
  locate(root);
  read_table(root, table_names(), config);
}

void read_file_text(const std::string& text, const std::string& source, ConfigProblems& problems, Config& config) {
  try {
    read_document(toml::parse(text, source), -1, problems, config);
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    problems.add({-1, static_cast<int>(at.line), static_cast<int>(at.column)}, "", std::string(error.description()));
    // The rest of the file is unknown, so no rule across keys can be judged.
    for (const std::string& table : table_names()) problems.suspect(table);
  }
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

void read_set(const std::string& argument, int set, ConfigProblems& problems, Config& config) {
  const ConfigOrigin origin{set, 0, 0};
  const auto equals = argument.find('=');
  const std::string name = trimmed(argument.substr(0, equals));
  const bool bare =
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == std::string::npos;
  if (equals == std::string::npos || name.empty() || !bare)
    return problems.add(origin, "", fmt::format("expected table.key=value, found {}", toml_text(argument)));
  const std::string value = argument.substr(equals + 1);
  try {
    read_document(toml::parse(name + " = " + value), set, problems, config);
  } catch (const toml::parse_error&) {
    const ConfigKey* key = find_key(name);
    const std::string what = key == nullptr ? "a TOML value" : "a TOML value (" + key->type + ")";
    std::string hint = "strings need quotes within the shell's own, lists need brackets";
    if (key != nullptr && key->type == "string")
      hint = fmt::format("strings need quotes: --set '{}={}'", name, toml_text(value));
    problems.add(origin, name, fmt::format("expected {}, found {}; {}", what, value.empty() ? "nothing" : value, hint));
  }
}

}  // namespace

Config parse_config(const std::string& text, const std::string& source, std::span<const std::string> sets) {
  ConfigProblems problems(source, sets);
  Config config;
  read_file_text(text, source, problems, config);
  for (std::size_t i = 0; i < sets.size(); ++i) read_set(sets[i], static_cast<int>(i), problems, config);
  problems.add(validate(config));
  if (problems.count() > 0) fail(problems.report());
  return config;
}

Config load_config(const std::string& path, std::span<const std::string> sets) {
  return parse_config(read_file(path), path, sets);
}

std::string to_toml(const Config& config) {
  std::string text, table;
  for (const ConfigKey& key : config_keys()) {
    if (config_table(key.name) != table) {
      text += fmt::format("{}[{}]\n", table.empty() ? "" : "\n", config_table(key.name));
      table = config_table(key.name);
    }
    if (const auto value = key.get(config))
      text += fmt::format("{} = {}\n", config_leaf(key.name), *value);
    else
      text += fmt::format("# {} is not set: {}\n", config_leaf(key.name), key.absent);
  }
  return text;
}

}  // namespace mhd
