// Writing in three acts. Rank 0 reserves the space, so that a full disk shows before anybody waits for anybody, and
// lays the file out. All ranks write parts of the fields; compressed ones travel to rank 0. Rank 0 seals checkpoints,
// makes the file durable and gives it its name.

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "core/error.hpp"
#include "io/agree.hpp"
#include "io/compressed_fields.hpp"
#include "io/field_writer.hpp"
#include "io/file.hpp"
#include "io/seal.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_layout.hpp"

namespace mhd {
namespace {

/// Where the fields begin, as rank 0 knows.
std::vector<std::int64_t> shared_offsets(const std::optional<SnapshotLayout>& layout, std::size_t fields,
                                         const Comm& comm) {
  std::vector<std::int64_t> offsets(fields);
  for (std::size_t i = 0; layout && i < layout->places.size(); ++i) offsets[i] = layout->places[i].offset;
  comm.broadcast(offsets);
  return offsets;
}

}  // namespace

std::string hdf5_version() {
  // Asked for once: HDF5 bears no call, not even this one, while another thread writes a file.
  static const std::string version = [] {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return fmt::format("HDF5 {}.{}.{}", major, minor, release);
  }();
  return version;
}

std::int64_t snapshot_bytes(const Grid& grid, int fields, Precision precision) {
  return grid.cells.product() * fields * bytes_per_value(precision);
}

void write_snapshot(const std::string& path, const SnapshotHeader& header, std::span<const Field> fields,
                    const FieldSource& source, const Box& box, const Comm& comm, std::size_t staging_bytes) {
  const std::string partial = partial_name(path);
  try {
    std::optional<OutputFile> output;  // on rank 0, like the layout
    std::optional<SnapshotLayout> layout;
    agree(comm, [&] {
      if (!comm.root()) return;
      output.emplace(partial, OutputFile::Start::anew);
      output->require_allowed(most_bytes(header, fields));
      output->reserve(snapshot_bytes(header.grid, static_cast<int>(fields.size()), header.precision));
      layout.emplace(lay_out(partial, header, fields));
    });
    if (header.compression > 0)
      write_compressed_fields(partial, layout ? &*layout : nullptr, output ? &*output : nullptr, header, fields, source,
                              box, comm);
    agree(comm, [&] {
      if (!comm.root()) return;
      layout->file.close();
      const std::int64_t size = layout->image.size();
      output->resize(size);
      if (header.compression == 0) output->reserve(size);
      layout->image.copy_to(*output);
      output->close();
    });
    if (header.compression == 0)
      write_fields(partial, header, fields, shared_offsets(layout, fields.size(), comm), source, box, comm,
                   staging_bytes);
    agree(comm, [&] {
      if (!comm.root()) return;
      if (header.checkpoint) seal_file(partial, layout->places);
      publish_file(partial, path);
    });
  } catch (...) {
    if (comm.root()) ::unlink(partial.c_str());
    throw;
  }
}

}  // namespace mhd
