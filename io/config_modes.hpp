#pragma once
// Lists of tables: the modes of an initial condition and their factors. And walking a TOML table by a list of keys.

#include <string>
#include <vector>

#include "io/config_codec.hpp"
#include "io/config_schema.hpp"

namespace mhd {

template <>
struct Codec<std::vector<Mode>> {
  static std::string type() { return "list of tables"; }
  static std::string range(const ConfigRange&) { return ""; }
  static void read(const ConfigReader& in, const ConfigRange& range, std::vector<Mode>& value);
  static std::optional<std::string> write(const std::vector<Mode>& value);
};

template <>
struct Codec<std::vector<WaveFactor>> {
  static std::string type() { return "list of tables"; }
  static std::string range(const ConfigRange&) { return ""; }
  static void read(const ConfigReader& in, const ConfigRange& range, std::vector<WaveFactor>& value);
  static std::optional<std::string> write(const std::vector<WaveFactor>& value);
};

/// The key "function" of a factor: a bool in memory, "sin" or "cos" in the file.
ConfigEntry<WaveFactor> function_entry();

}  // namespace mhd
