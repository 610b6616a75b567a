#pragma once
// The fields of a compressed snapshot. Chunks follow the grid, not the ranks: before each round of chunks the cells
// travel to the ranks that compress, in turn, and what they make of it to rank 0, which stores the chunks in their
// order. So the bytes of the file are the same for any ranks, and no rank waits inside HDF5 for one that has failed.

#include <span>
#include <string>

#include "core/comm.hpp"
#include "io/output_file.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_layout.hpp"

namespace mhd {

/// Collective: writes the fields, whose chunked datasets are laid out, to the file. On rank 0 `layout` and `file` are
/// given; what HDF5 keeps in the image of the layout is still to be copied to the file. Throws Error(everywhere). Extra
/// memory: a few MiB on every rank, on rank 0 up to 64 more.
void write_compressed_fields(const std::string& path, SnapshotLayout* layout, OutputFile* file,
                             const SnapshotHeader& header, std::span<const Field> fields, const FieldSource& source,
                             const Box& box, const Comm& comm);

}  // namespace mhd
