#include "io/compressed_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "io/agree.hpp"
#include "io/chunks.hpp"
#include "io/field_exchange.hpp"
#include "io/field_writer.hpp"

namespace mhd {
namespace {

constexpr std::int64_t most_chunks_per_round = 64;

class CompressedWriter {
 public:
  CompressedWriter(const std::string& path, SnapshotLayout* layout, OutputFile* file, const SnapshotHeader& header,
                   const Box& box, const Comm& comm)
      : path_(path),
        layout_(layout),
        file_(file),
        header_(header),
        box_(box),
        comm_(comm),
        exchange_(header.grid.cells, box, header.precision, comm),
        chunk_(hdf5::chunk_shape(header.grid.cells, exchange_.value_bytes())) {
    const Int3 n = header.grid.cells;
    for (int z = 0; z < n.z; z += chunk_.z)
      for (int y = 0; y < n.y; y += chunk_.y)
        for (int x = 0; x < n.x; x += chunk_.x) lowers_.push_back({x, y, z});
  }

  void write(Field field, const FieldSource& source) {
    FieldView view;
    hdf5::DatasetId dataset;
    agree(comm_, [&] {
      view = view_of(field, source, box_);
      if (layout_) dataset = layout_->file.open_dataset(std::string(name(field)));
    });
    const auto chunks = static_cast<std::int64_t>(lowers_.size());
    const std::int64_t owners = std::min<std::int64_t>(comm_.size(), most_chunks_per_round);
    for (std::int64_t first = 0; first < chunks; first += owners)
      write_round(dataset, view, first, std::min(first + owners, chunks));
  }

 private:
  /// Whole planes, whole rows or a part of one: the values of a chunk follow each other in the array.
  ArrayRange range_of(std::int64_t chunk) const {
    const Int3 n = header_.grid.cells, lower = lowers_[static_cast<std::size_t>(chunk)];
    const Int3 size = intersect({lower, lower + chunk_}, header_.grid.box()).size();
    const std::int64_t first = lower.x + std::int64_t{n.x} * (lower.y + std::int64_t{n.y} * lower.z);
    return {first, first + size.product()};
  }
  /// Consecutive chunks belong to consecutive ranks.
  int owner(std::int64_t chunk) const { return static_cast<int>(chunk % comm_.size()); }
  /// The chunk of a rank among first <= chunk < end, or -1.
  std::int64_t chunk_of(int rank, std::int64_t first, std::int64_t end) const {
    const std::int64_t chunk = first + (rank - first % comm_.size() + comm_.size()) % comm_.size();
    return chunk < end ? chunk : -1;
  }

  void write_round(const hdf5::DatasetId& dataset, const FieldView& view, std::int64_t first, std::int64_t end) {
    const std::span<const std::byte> values = exchange_.collect(view, [&](int rank) {
      const std::int64_t chunk = chunk_of(rank, first, end);
      return chunk < 0 ? ArrayRange{} : range_of(chunk);
    });
    std::string stored;
    agree(comm_, [&] {
      if (values.empty()) return;
      // A chunk at the edge of the grid is stored whole; its cells beyond are zero.
      std::vector<std::byte> whole(static_cast<std::size_t>(chunk_.product() * exchange_.value_bytes()));
      std::copy(values.begin(), values.end(), whole.begin());
      stored = hdf5::compressed_chunk(whole, chunk_, exchange_.value_bytes(), header_.compression, path_);
    });
    const std::vector<std::string> all = comm_.gather(stored);
    agree(comm_, [&] {
      for (std::int64_t chunk = first; layout_ && chunk < end; ++chunk)
        store(dataset, lowers_[static_cast<std::size_t>(chunk)], all[static_cast<std::size_t>(owner(chunk))]);
    });
  }

  /// HDF5 finds the place of a chunk in its image; the bytes go to the file at once and need not stay in memory.
  void store(const hdf5::DatasetId& dataset, Int3 lower, const std::string& stored) {
    const hdf5::StoredChunk chunk = hdf5::write_compressed_chunk(layout_->file, dataset, lower, stored);
    file_->write(chunk.bytes.data(), static_cast<std::int64_t>(chunk.bytes.size()), chunk.offset);
    layout_->image.forget(chunk.offset, static_cast<std::int64_t>(chunk.bytes.size()));
  }

  const std::string& path_;
  SnapshotLayout* layout_;
  OutputFile* file_;
  const SnapshotHeader& header_;
  Box box_;
  const Comm& comm_;
  FieldExchange exchange_;
  Int3 chunk_;
  std::vector<Int3> lowers_;  ///< first cell of each chunk, in the order of the file
};

}  // namespace

void write_compressed_fields(const std::string& path, SnapshotLayout* layout, OutputFile* file,
                             const SnapshotHeader& header, std::span<const Field> fields, const FieldSource& source,
                             const Box& box, const Comm& comm) {
  CompressedWriter writer(path, layout, file, header, box, comm);
  for (const Field field : fields) writer.write(field, source);
}

}  // namespace mhd
