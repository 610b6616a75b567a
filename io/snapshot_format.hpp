#pragma once
// What the writer and the reader of snapshots must agree on.

#include <cstdint>
#include <string>

namespace mhd::snapshot_format {

inline constexpr std::int64_t version = 1;
inline const char* const kind = "mhdsim snapshot";
inline const char* const checkpoint_kind = "mhdsim checkpoint";

inline const char* const float32_name = "float32";
inline const char* const float64_name = "float64";

}  // namespace mhd::snapshot_format
