#pragma once
// The layout of a snapshot: header, coordinates and the places of the fields, made by HDF5 in memory. So metadata never
// depend on the ranks, and no error of a disk meets HDF5, which cannot give up a file.

#include <span>
#include <string>
#include <vector>

#include "io/file_image.hpp"
#include "io/hdf5.hpp"
#include "io/seal.hpp"
#include "io/snapshot.hpp"

namespace mhd {

int bytes_per_value(Precision precision);

struct SnapshotLayout {
  FileImage image;
  hdf5::File file;                ///< in the image, still open
  std::vector<FileRange> places;  ///< of the fields; none in a compressed file, whose chunks find theirs one by one
};

/// By this process alone. `path` is for messages. Throws Error(io).
SnapshotLayout lay_out(const std::string& path, const SnapshotHeader& header, std::span<const Field> fields);

/// At least as many bytes as the file of a layout will have.
std::int64_t most_bytes(const SnapshotHeader& header, std::span<const Field> fields);

}  // namespace mhd
