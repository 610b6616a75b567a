#pragma once
// The keys of the configuration file, declared once: names, types, units, ranges, descriptions, and how each reaches
// its member of mhd::Config. The reader, the writer and docs/configuration.md all follow from this table.
// To add a key: add the member in core/config.hpp and one entry in io/config_schema.cpp.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/config.hpp"

namespace mhd {

class ConfigReader;

/// When a key may get another value in the life of a run: never (without --allow-change), when it goes on from a
/// checkpoint, or also while it runs (RELOAD).
enum class KeyChange { frozen, restart, running };

/// One key of a table whose values go to an Owner (Config, or Mode and WaveFactor for the tables inside lists).
template <class Owner>
struct ConfigEntry {
  std::string name;         ///< dotted, e.g. "grid.cells"; within Mode and WaveFactor the bare key
  std::string type;         ///< TOML type in words: "integer", "3 floats", "list of strings"
  std::string unit;         ///< "1": a pure number; empty: not a quantity
  std::string range;        ///< of values, or the choices; empty: any
  std::string description;  ///< one sentence
  std::string absent;       ///< what holds where the key is not given and has no default value
  bool required = false;    ///< must be given in its table
  KeyChange change = KeyChange::frozen;
  /// Checks the value and stores it; reports every fault to the reader and then leaves the owner as it was.
  std::function<void(const ConfigReader&, Owner&)> set;
  /// The value as TOML; nothing where it is not set.
  std::function<std::optional<std::string>(const Owner&)> get;
  /// Copies the value.
  std::function<void(const Owner& from, Owner& to)> copy;
};

using ConfigKey = ConfigEntry<Config>;

/// Table name ("grid", "initial.noise") of a key, and its last part.
std::string config_table(const std::string& name);
std::string config_leaf(const std::string& name);

/// All keys, those of one table together, in the order of the documentation.
const std::vector<ConfigKey>& config_keys();
/// The keys of an element of initial.modes and of its factors.
const std::vector<ConfigEntry<Mode>>& mode_keys();
const std::vector<ConfigEntry<WaveFactor>>& wave_factor_keys();

/// The reference part of docs/configuration.md: a Markdown table for each TOML table.
std::string configuration_reference();

}  // namespace mhd
