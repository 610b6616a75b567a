#pragma once
// What a misspelt name was probably meant to be.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mhd {

/// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
int edit_distance(std::string_view a, std::string_view b);

/// The known name nearest to a dotted or bare one, if any is near. A right last part in the wrong table counts as one
/// edit.
std::optional<std::string> nearest_name(const std::string& name, const std::vector<std::string>& known);

/// "the nearest known name is x", or, where none is near, "known names: x, y, z".
std::string name_hint(const std::string& name, const std::vector<std::string>& known);

}  // namespace mhd
