#include "app/run_options.hpp"

#include <regex>

namespace mhd {

std::optional<double> duration_seconds(const std::string& text) {
  static const std::regex form(R"((?:(\d{1,5})-)?(\d{1,5}):([0-5]\d):([0-5]\d))");
  std::smatch part;
  if (!std::regex_match(text, part, form)) return std::nullopt;
  const auto number = [&](std::size_t i) { return part[i].matched ? std::stod(part[i]) : 0.0; };
  return ((number(1) * 24 + number(2)) * 60 + number(3)) * 60 + number(4);
}

}  // namespace mhd
