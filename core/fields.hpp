#pragma once
// The fields, named once. A run holds only those that its physics needs, in consecutive slots.

#include <array>
#include <optional>
#include <string_view>

namespace mhd {

/// lnrho: natural log of density; u: velocity; a: vector potential; ss: specific entropy.
enum class Field : int { lnrho, ux, uy, uz, ax, ay, az, ss };

inline constexpr int max_fields = 8;
inline constexpr std::array<std::string_view, max_fields> field_names = {"lnrho", "ux", "uy", "uz",
                                                                         "ax",    "ay", "az", "ss"};

constexpr std::string_view name(Field f) { return field_names[static_cast<int>(f)]; }

constexpr std::optional<Field> field_from_name(std::string_view text) {
  for (int i = 0; i < max_fields; ++i)
    if (field_names[i] == text) return static_cast<Field>(i);
  return std::nullopt;
}

/// The fields of a run and the slot (storage index, 0 .. count()-1) of each: lnrho, ux, uy, uz, [ax, ay, az], [ss].
struct FieldSet {
  bool magnetic = true;
  bool entropy = true;

  constexpr int count() const { return 4 + (magnetic ? 3 : 0) + (entropy ? 1 : 0); }
  constexpr bool has(Field f) const {
    return f == Field::ss ? entropy : (f >= Field::ax && f <= Field::az) ? magnetic : true;
  }
  /// Slot of a field that the set has.
  constexpr int slot(Field f) const { return f == Field::ss ? (magnetic ? 7 : 4) : static_cast<int>(f); }
  constexpr Field field(int slot) const { return slot == 4 && !magnetic ? Field::ss : static_cast<Field>(slot); }
  friend constexpr bool operator==(const FieldSet&, const FieldSet&) = default;
};

}  // namespace mhd
