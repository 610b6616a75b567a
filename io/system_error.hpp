#pragma once
// What the system says when it refuses a file, and what the user can do about it.

#include <optional>
#include <string>
#include <string_view>

namespace mhd {

/// "No space left on device (free some space there, ...)": the text of an errno, with advice where there is some.
std::string system_error_text(int error_number);

/// The errno of a message that contains its text as the C library words it, as those of MPI do.
std::optional<int> error_number_in(std::string_view message);

}  // namespace mhd
