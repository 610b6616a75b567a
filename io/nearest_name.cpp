#include "io/nearest_name.hpp"

#include <algorithm>

namespace mhd {
namespace {

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t columns = b.size() + 1;
  std::vector<int> d((a.size() + 1) * columns);
  for (std::size_t i = 0; i <= a.size(); ++i) d[i * columns] = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) d[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      int& here = d[i * columns + j];
      const int substituted = d[(i - 1) * columns + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      here = std::min({d[(i - 1) * columns + j] + 1, d[i * columns + j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        here = std::min(here, d[(i - 2) * columns + j - 2] + 1);
    }
  return d.back();
}

std::optional<std::string> nearest_name(const std::string& name, const std::vector<std::string>& known) {
  std::optional<std::string> nearest;
  int least = 0;
  for (const std::string& candidate : known) {
    const int elsewhere = edit_distance(last_part(name), last_part(candidate)) + 1;
    const int distance = std::min(edit_distance(name, candidate), elsewhere);
    if (!nearest || distance < least) {
      nearest = candidate;
      least = distance;
    }
  }
  const int near = std::max(2, static_cast<int>(last_part(name).size()) / 2);
  return least <= near ? nearest : std::nullopt;
}

std::string name_hint(const std::string& name, const std::vector<std::string>& known) {
  if (const auto nearest = nearest_name(name, known)) return "the nearest known name is " + *nearest;
  std::string all;
  for (const std::string& word : known) all += (all.empty() ? "" : ", ") + word;
  return "known names: " + all;
}

}  // namespace mhd
