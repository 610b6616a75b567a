#include "io/config_codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

namespace mhd {
namespace {

std::string found(const toml::node& node) {
  if (const auto* v = node.as_string()) return toml_text(v->get());
  if (const auto* v = node.as_integer()) return std::to_string(v->get());
  if (const auto* v = node.as_floating_point()) return toml_text(v->get());
  if (const auto* v = node.as_boolean()) return v->get() ? "true" : "false";
  if (const auto* v = node.as_array())
    return fmt::format("an array of {} value{}", v->size(), v->size() == 1 ? "" : "s");
  return node.is_table() ? "a table" : "a date or time";
}

std::string number_text(double value) { return fmt::format("{:.17g}", value); }

std::string with_range(const std::string& what, const ConfigRange& range) {
  if (!range.choices.empty()) return range.text();
  if (range.text().empty()) return what;
  return what + (std::isfinite(range.lower) && std::isfinite(range.upper) && !range.above_lower ? " from " : " ") +
         range.text();
}

}  // namespace

void ConfigReader::expected(const std::string& what) const {
  reject(fmt::format("expected {}, found {}", what, found(node_)));
}

bool ConfigRange::holds(double value) const {
  if (!choices.empty()) return std::find(choices.begin(), choices.end(), value) != choices.end();
  return (above_lower ? value > lower : value >= lower) && value <= upper;
}

std::string ConfigRange::text() const {
  if (!choices.empty()) {
    std::vector<std::string> words;
    for (const int choice : choices) words.push_back(std::to_string(choice));
    return config_list(words, false);
  }
  const bool has_lower = std::isfinite(lower), has_upper = std::isfinite(upper);
  if (has_lower && has_upper && !above_lower) return number_text(lower) + " to " + number_text(upper);
  std::string result;
  if (has_lower) result = (above_lower ? "> " : ">= ") + number_text(lower);
  if (has_upper) result += (result.empty() ? "<= " : " and <= ") + number_text(upper);
  return result;
}

const ConfigNames<EquationOfState>& config_names(EquationOfState) {
  static const ConfigNames<EquationOfState> names{{"isothermal", EquationOfState::isothermal},
                                                  {"ideal_gas", EquationOfState::ideal_gas}};
  return names;
}
const ConfigNames<ViscosityKind>& config_names(ViscosityKind) {
  static const ConfigNames<ViscosityKind> names{{"nu-const", ViscosityKind::nu_const},
                                                {"rho-nu-const", ViscosityKind::rho_nu_const}};
  return names;
}
const ConfigNames<ConductionKind>& config_names(ConductionKind) {
  static const ConfigNames<ConductionKind> names{{"K-const", ConductionKind::k_const},
                                                 {"chi-const", ConductionKind::chi_const}};
  return names;
}
const ConfigNames<InitialKind>& config_names(InitialKind) {
  static const ConfigNames<InitialKind> names{
      {"uniform", InitialKind::uniform},         {"random", InitialKind::random},
      {"sound_wave", InitialKind::sound_wave},   {"alfven_wave", InitialKind::alfven_wave},
      {"beltrami", InitialKind::beltrami},       {"abc_flow", InitialKind::abc_flow},
      {"orszag_tang", InitialKind::orszag_tang}, {"taylor_green", InitialKind::taylor_green},
      {"snapshot", InitialKind::snapshot}};
  return names;
}
const ConfigNames<Precision>& config_names(Precision) {
  static const ConfigNames<Precision> names{{"float32", Precision::float32}, {"float64", Precision::float64}};
  return names;
}
const ConfigNames<Backend>& config_names(Backend) {
  static const ConfigNames<Backend> names{{"auto", Backend::automatic}, {"cpu", Backend::cpu}, {"gpu", Backend::gpu}};
  return names;
}
const ConfigNames<TransportChoice>& config_names(TransportChoice) {
  static const ConfigNames<TransportChoice> names{{"auto", TransportChoice::automatic},
                                                  {"cuda_aware", TransportChoice::cuda_aware},
                                                  {"host_staged", TransportChoice::host_staged},
                                                  {"peer", TransportChoice::peer},
                                                  {"mixed", TransportChoice::mixed}};
  return names;
}
const ConfigNames<Field>& config_names(Field) {
  static const ConfigNames<Field> names = [] {
    ConfigNames<Field> all;
    for (const auto word : field_names) all.emplace_back(word, *field_from_name(word));
    return all;
  }();
  return names;
}

std::string config_list(const std::vector<std::string>& words, bool quotes, const std::string& last) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) result += i + 1 == words.size() ? " " + last + " " : ", ";
    result += quotes ? "\"" + words[i] + "\"" : words[i];
  }
  return result;
}

std::string toml_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);  // shortest round trip
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string toml_text(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\')
      text += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      text += c;
  }
  return text + "\"";
}

std::optional<std::int64_t> read_integer(const ConfigReader& in, const ConfigRange& range, std::int64_t lowest,
                                         std::int64_t highest) {
  const auto* value = in.node().as_integer();
  if (value != nullptr && value->get() >= lowest && value->get() <= highest &&
      range.holds(static_cast<double>(value->get())))
    return value->get();
  in.expected(with_range("an integer", range));
  return std::nullopt;
}

std::optional<double> read_float(const ConfigReader& in, const ConfigRange& range) {
  std::optional<double> value;
  if (const auto* given = in.node().as_floating_point()) value = given->get();
  if (const auto* given = in.node().as_integer()) {
    value = static_cast<double>(given->get());
    constexpr std::int64_t exact = std::int64_t{1} << 53;
    if (given->get() < -exact || given->get() > exact) {
      in.expected("a float, or an integer of at most 2^53");
      return std::nullopt;
    }
  }
  if (value && std::isfinite(*value) && range.holds(*value)) return value;
  const bool finite = !value || std::isfinite(*value);
  in.expected(with_range(finite ? "a float" : "a finite float", range));
  return std::nullopt;
}

std::optional<std::size_t> read_choice(const ConfigReader& in, const std::vector<std::string>& choices) {
  if (const auto* value = in.node().as_string())
    for (std::size_t i = 0; i < choices.size(); ++i)
      if (choices[i] == value->get()) return i;
  in.expected(config_list(choices, true));
  return std::nullopt;
}

bool is_array_of(const ConfigReader& in, std::size_t count, const std::string& what) {
  const auto* array = in.node().as_array();
  if (array != nullptr && array->size() == count) return true;
  in.expected(what);
  return false;
}

void Codec<bool>::read(const ConfigReader& in, const ConfigRange&, bool& value) {
  if (const auto* given = in.node().as_boolean())
    value = given->get();
  else
    in.expected("true or false");
}

void Codec<std::string>::read(const ConfigReader& in, const ConfigRange&, std::string& value) {
  if (const auto* given = in.node().as_string())
    value = given->get();
  else
    in.expected("a string");
}

void Codec<std::vector<Field>>::read(const ConfigReader& in, const ConfigRange& range, std::vector<Field>& value) {
  const auto* array = in.node().as_array();
  if (array == nullptr) return in.expected("a list of field names");
  value.assign(array->size(), Field::lnrho);
  for (std::size_t i = 0; i < array->size(); ++i) Codec<Field>::read(in.element(i), range, value[i]);
}

std::optional<std::string> Codec<std::vector<Field>>::write(const std::vector<Field>& value) {
  std::string text;
  for (const Field f : value) text += (text.empty() ? "\"" : ", \"") + std::string(name(f)) + "\"";
  return "[" + text + "]";
}

}  // namespace mhd
