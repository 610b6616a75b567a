#include "io/config_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

namespace mhd {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whether the dotted name occurs in the text as a whole word.
bool mentions(const std::string& text, const std::string& name) {
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const auto after = at + name.size();
    const bool starts = at == 0 || (!in_name(text[at - 1]) && text[at - 1] != '.');
    const bool ends = after == text.size() || !in_name(text[after]);
    if (starts && ends) return true;
  }
  return false;
}

/// "initial.modes[0].field" -> "initial.modes[0]" -> "initial.modes" -> "initial" -> "".
std::string parent(const std::string& path) {
  const auto cut = path.find_last_of(".[");
  return cut == std::string::npos ? "" : path.substr(0, cut);
}

}  // namespace

void ConfigProblems::locate(const std::string& path, ConfigOrigin origin) {
  std::erase_if(origins_, [&](const auto& item) { return item.first.starts_with(path + "["); });
  origins_[path] = origin;
}

void ConfigProblems::add(ConfigOrigin origin, const std::string& path, const std::string& message) {
  problems_.push_back({origin, path, message});
  // A fault inside an array leaves the whole key unknown.
  if (!path.empty()) suspect(path.substr(0, path.find('[')));
}

void ConfigProblems::add(const std::vector<Violation>& violations) {
  std::vector<Violation> own;
  for (const Violation& v : violations) {
    const std::string text = v.key + ": " + v.message;
    if (std::none_of(suspects_.begin(), suspects_.end(), [&](const auto& name) { return mentions(text, name); }))
      own.push_back(v);
  }
  for (const Violation& v : own) problems_.push_back({nearest_origin(v.key), v.key, v.message});
}

ConfigOrigin ConfigProblems::nearest_origin(std::string path) const {
  for (; !path.empty(); path = parent(path))
    if (const auto found = origins_.find(path); found != origins_.end()) return found->second;
  return {};
}

std::string ConfigProblems::render(const Problem& problem) const {
  const auto& [origin, path, message] = problem;
  if (origin.set >= 0) {
    const std::string& given = set_text(origin.set);
    const bool named = path.empty() || given.substr(0, given.find_first_of("= ")) == path;
    return fmt::format("--set {}: {}{}", given, named ? "" : path + ": ", message);
  }
  std::string where = source_;
  if (origin.line > 0) where += fmt::format(":{}", origin.line);
  if (origin.column > 0) where += fmt::format(":{}", origin.column);
  return fmt::format("{}: {}{}", where, path.empty() ? "" : path + ": ", message);
}

std::string ConfigProblems::report() const {
  std::vector<Problem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Problem& a, const Problem& b) {
    return std::tuple(a.origin.set, a.origin.line) < std::tuple(b.origin.set, b.origin.line);
  });
  std::string text;
  for (const Problem& problem : sorted) text += render(problem) + "\n";
  return text +
         fmt::format("{} error{} in the configuration {}", sorted.size(), sorted.size() == 1 ? "" : "s", source_);
}

}  // namespace mhd
