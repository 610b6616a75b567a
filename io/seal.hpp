#pragma once
// The seal of a checkpoint: a block behind the HDF5 part of the file, which HDF5 does not look at, that says how long
// the file is, where it holds the fields, and what the checksum of all its other bytes is. It is verified by plain
// reading: what a damaged file would do to HDF5 (errors, crashes, wrong values) is never tried. The fields have
// checksums of their own, among the other bytes.

#include <cstdint>
#include <span>
#include <string>

namespace mhd {

/// Bytes that a seal adds at the end of a file.
inline constexpr std::int64_t seal_bytes = 1024;

/// A part of a file.
struct FileRange {
  std::int64_t offset = 0, bytes = 0;
};

/// Appends its seal to a complete, closed file, whose field data lie in `fields`, in ascending order. Throws Error(io).
void seal_file(const std::string& path, std::span<const FileRange> fields);

/// Throws Error(io), naming the file and what is wrong with it, unless the file is as it was sealed, but for what its
/// fields hold.
void require_seal(const std::string& path);

}  // namespace mhd
