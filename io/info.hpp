#pragma once
// What `mhdsim info FILE` prints.

#include <string>

namespace mhd {

/// Grid, time, fields with their ranges, configuration and build of a snapshot, as text. Serial, without MPI. Throws
/// Error(io) for anything that is not a snapshot.
std::string info_text(const std::string& path);

}  // namespace mhd
