#pragma once
// Reading and writing the run configuration (TOML). Strict: everything that is wrong with a file and its --set
// arguments is reported at once, in one Error(configuration, everywhere) of lines `file:line: key: expected ..., found
// ...`, and a last line with the count. Nothing here needs MPI.

#include <span>
#include <string>

#include "core/config.hpp"

namespace mhd {

/// Reads and checks a configuration file. `sets`: values that take precedence over those of the file, as
/// `table.key=value` with a TOML value; of two for one key the last counts. A file that cannot be read is an
/// Error(configuration) with the cause.
Config load_config(const std::string& path, std::span<const std::string> sets = {});

/// The same from text; `source` is the name used in messages.
Config parse_config(const std::string& text, const std::string& source, std::span<const std::string> sets = {});

/// The complete configuration as TOML, every key; those that are not set as comments. Reads back as the same Config to
/// the last bit.
std::string to_toml(const Config& config);

}  // namespace mhd
