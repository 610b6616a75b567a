#pragma once
// Datasets that HDF5 stores in chunks, shuffled and deflated. Chunks are cut from the grid alone and compressed one by
// one, in memory, by HDF5's own filters: what is stored does not depend on who compressed it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/box.hpp"
#include "io/hdf5.hpp"

namespace mhd::hdf5 {

/// HDF5 keeps the size of a chunk in 32 bits, and its cache holds 1 MiB unless a reader asks for more.
inline constexpr std::int64_t chunk_bytes_limit = std::int64_t{1} << 32;
inline constexpr std::int64_t preferred_chunk_bytes = std::int64_t{1} << 20;

/// Cells of a chunk of at most `limit` bytes: whole planes of the grid where one fits, else whole rows, else a part of
/// one.
Int3 chunk_shape(Int3 cells, int bytes_per_value, std::int64_t limit = preferred_chunk_bytes);

/// A dataset [z][y][x] of little-endian floats of 4 or 8 bytes in such chunks, of which none is there yet. Throws
/// Error(io) where this HDF5 cannot deflate, and Error(internal) for chunks of 4 GiB or more.
DatasetId create_chunked_dataset(File& file, const std::string& name, Int3 cells, Int3 chunk, int bytes_per_value,
                                 int level);

/// The values of one chunk as such a dataset stores them, with HDF5's mask of skipped filters in front. By this process
/// alone. `path` is for messages.
std::string compressed_chunk(std::span<const std::byte> values, Int3 chunk, int bytes_per_value, int level,
                             const std::string& path);

/// Where a chunk lies in the file, and its bytes there: a view of what was given.
struct StoredChunk {
  std::int64_t offset = 0;
  std::string_view bytes;
};

/// Stores what compressed_chunk returned as the chunk whose first cell is `lower`, in a file of File::create.
StoredChunk write_compressed_chunk(const File& file, const DatasetId& dataset, Int3 lower, const std::string& stored);

/// The level at which a dataset is deflated, 0 for one that is not.
int deflate_level(const DatasetId& dataset);
/// Bytes that the values of a dataset take in the file.
std::int64_t stored_bytes(const DatasetId& dataset);

}  // namespace mhd::hdf5
