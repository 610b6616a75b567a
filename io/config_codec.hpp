#pragma once
// Between TOML values and C++ members: one Codec per member type. Strict: a value that does not fit exactly is a fault.

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config.hpp"
#include "io/config_problems.hpp"
#include "io/toml.hpp"

namespace mhd {

/// A TOML value, where it stands, and where to report what is wrong with it.
class ConfigReader {
 public:
  ConfigReader(const toml::node& node, std::string path, int set, ConfigProblems& problems)
      : node_(node), path_(std::move(path)), set_(set), problems_(problems) {}

  const toml::node& node() const { return node_; }
  const std::string& path() const { return path_; }
  ConfigProblems& problems() const { return problems_; }
  ConfigOrigin origin() const { return {set_, static_cast<int>(node_.source().begin.line), 0}; }
  ConfigReader element(std::size_t i) const {
    return {(*node_.as_array())[i], path_ + "[" + std::to_string(i) + "]", set_, problems_};
  }
  ConfigReader child(const toml::node& node, std::string_view key) const {
    return {node, path_.empty() ? std::string(key) : path_ + "." + std::string(key), set_, problems_};
  }
  void reject(const std::string& message) const { problems_.add(origin(), path_, message); }
  /// "expected ..., found" the value.
  void expected(const std::string& what) const;

 private:
  const toml::node& node_;
  std::string path_;
  int set_;
  ConfigProblems& problems_;
};

/// The values that a number may take; checked per element of an array.
struct ConfigRange {
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
  bool above_lower = false;  ///< lower itself is not allowed
  std::vector<int> choices;  ///< if any: these only

  bool holds(double value) const;
  std::string text() const;  ///< "> 0", "1 to 10", "2, 4, 6 or 8"; empty: any
};

namespace config_range {
inline ConfigRange positive() { return {0, std::numeric_limits<double>::infinity(), true, {}}; }
inline ConfigRange at_least(double lower) { return {lower, std::numeric_limits<double>::infinity(), false, {}}; }
inline ConfigRange between(double lower, double upper) { return {lower, upper, false, {}}; }
inline ConfigRange above_to(double lower, double upper) { return {lower, upper, true, {}}; }
inline ConfigRange one_of(std::vector<int> choices) { return {{}, {}, false, std::move(choices)}; }
}  // namespace config_range

/// The names of an enumeration in the configuration file.
template <class Enum>
using ConfigNames = std::vector<std::pair<std::string, Enum>>;
const ConfigNames<EquationOfState>& config_names(EquationOfState);
const ConfigNames<ViscosityKind>& config_names(ViscosityKind);
const ConfigNames<ConductionKind>& config_names(ConductionKind);
const ConfigNames<InitialKind>& config_names(InitialKind);
const ConfigNames<Precision>& config_names(Precision);
const ConfigNames<Backend>& config_names(Backend);
const ConfigNames<TransportChoice>& config_names(TransportChoice);
const ConfigNames<Field>& config_names(Field);

/// `"a", "b" or "c"` (or with another last word, and without quotes).
std::string config_list(const std::vector<std::string>& words, bool quotes, const std::string& last = "or");
/// Shortest decimal text that reads back as the same double, as a TOML float.
std::string toml_text(double value);
std::string toml_text(const std::string& value);
std::optional<std::int64_t> read_integer(const ConfigReader& in, const ConfigRange& range, std::int64_t lowest,
                                         std::int64_t highest);
std::optional<double> read_float(const ConfigReader& in, const ConfigRange& range);
std::optional<std::size_t> read_choice(const ConfigReader& in, const std::vector<std::string>& choices);
/// Whether the value is an array of this many values; reports if not.
bool is_array_of(const ConfigReader& in, std::size_t count, const std::string& what);

/// type(): the TOML type in words; range(): its values in words; read(): stores the value if it is right, else reports;
/// write(): the value as TOML.
template <class T>
struct Codec;

template <class T>
requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) struct Codec<T> {
  static std::string type() { return "integer"; }
  static std::string range(const ConfigRange& r) { return r.text(); }
  static void read(const ConfigReader& in, const ConfigRange& range, T& value) {
    constexpr std::int64_t lowest = std::is_unsigned_v<T> ? 0 : std::int64_t{std::numeric_limits<T>::min()};
    constexpr std::int64_t highest =
        sizeof(T) >= 8 ? std::numeric_limits<std::int64_t>::max() : std::int64_t(std::numeric_limits<T>::max());
    if (const auto v = read_integer(in, range, lowest, highest)) value = static_cast<T>(*v);
  }
  static std::optional<std::string> write(const T& value) { return std::to_string(value); }
};

template <>
struct Codec<double> {
  static std::string type() { return "float"; }
  static std::string range(const ConfigRange& r) { return r.text(); }
  static void read(const ConfigReader& in, const ConfigRange& range, double& value) {
    if (const auto v = read_float(in, range)) value = *v;
  }
  static std::optional<std::string> write(double value) { return toml_text(value); }
};

template <>
struct Codec<bool> {
  static std::string type() { return "boolean"; }
  static std::string range(const ConfigRange&) { return "true or false"; }
  static void read(const ConfigReader& in, const ConfigRange& range, bool& value);
  static std::optional<std::string> write(bool value) { return value ? "true" : "false"; }
};

template <>
struct Codec<std::string> {
  static std::string type() { return "string"; }
  static std::string range(const ConfigRange&) { return ""; }
  static void read(const ConfigReader& in, const ConfigRange& range, std::string& value);
  static std::optional<std::string> write(const std::string& value) { return toml_text(value); }
};

template <class Enum>
requires std::is_enum_v<Enum>
struct Codec<Enum> {
  static std::vector<std::string> words() {
    std::vector<std::string> result;
    for (const auto& [word, value] : config_names(Enum{})) result.push_back(word);
    return result;
  }
  static std::string type() { return "string"; }
  static std::string range(const ConfigRange&) { return config_list(words(), true); }
  static void read(const ConfigReader& in, const ConfigRange&, Enum& value) {
    if (const auto i = read_choice(in, words())) value = config_names(Enum{})[*i].second;
  }
  static std::optional<std::string> write(Enum value) {
    for (const auto& [word, v] : config_names(Enum{}))
      if (v == value) return toml_text(word);
    return std::nullopt;
  }
};

/// Int3 and Real3.
template <class Vector, class Element>
struct VectorCodec {
  static std::string type() { return "3 " + Codec<Element>::type() + "s"; }
  static std::string range(const ConfigRange& r) { return r.text().empty() ? "" : "each " + r.text(); }
  static void read(const ConfigReader& in, const ConfigRange& range, Vector& value) {
    if (!is_array_of(in, 3, type())) return;
    for (int axis = 0; axis < 3; ++axis)
      Codec<Element>::read(in.element(static_cast<std::size_t>(axis)), range, value[axis]);
  }
  static std::optional<std::string> write(const Vector& v) {
    return "[" + *Codec<Element>::write(v[0]) + ", " + *Codec<Element>::write(v[1]) + ", " +
           *Codec<Element>::write(v[2]) + "]";
  }
};
template <>
struct Codec<Int3> : VectorCodec<Int3, int> {};
template <>
struct Codec<Real3> : VectorCodec<Real3, double> {};

/// Absent unless given.
template <class T>
struct Codec<std::optional<T>> {
  static std::string type() { return Codec<T>::type(); }
  static std::string range(const ConfigRange& r) { return Codec<T>::range(r); }
  static void read(const ConfigReader& in, const ConfigRange& range, std::optional<T>& value) {
    T given{};
    Codec<T>::read(in, range, given);
    value = given;
  }
  static std::optional<std::string> write(const std::optional<T>& value) {
    return value ? Codec<T>::write(*value) : std::nullopt;
  }
};

template <>
struct Codec<std::vector<Field>> {
  static std::string type() { return "list of strings"; }
  static std::string range(const ConfigRange& r) { return "of " + Codec<Field>::range(r); }
  static void read(const ConfigReader& in, const ConfigRange& range, std::vector<Field>& value);
  static std::optional<std::string> write(const std::vector<Field>& value);
};

}  // namespace mhd
