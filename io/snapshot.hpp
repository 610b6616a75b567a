#pragma once
// Snapshots: one HDF5 file for all ranks. Fields are datasets [z][y][x] of float64 or float32 at the root, named as in
// core/fields.hpp, beside the cell centres x, y, z (float64) and attributes that make the file self-describing
// (docs/output.md). The bytes of a file depend on the state and the header alone: not on the number of ranks, the
// decomposition, the date or the machine.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/box.hpp"
#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/fields.hpp"
#include "core/grid.hpp"
#include "core/state.hpp"
#include "io/hdf5.hpp"

namespace mhd {

/// What wrote a file; texts without host names or dates.
struct BuildInfo {
  std::string version;   ///< of mhdsim
  std::string revision;  ///< of its git repository
  std::string compiler;
  std::string mpi;
  std::string hdf5;
  friend bool operator==(const BuildInfo&, const BuildInfo&) = default;
};

/// What a checkpoint has and a snapshot has not, besides its seal.
struct CheckpointRecord {
  double courant_dt = 0;                 ///< the step of the Courant condition that is in force; 0: none
  std::vector<std::uint64_t> checksums;  ///< of the fields, in their order
};

/// The attributes of a snapshot.
struct SnapshotHeader {
  Grid grid;
  double time = 0;
  std::int64_t step = 0;
  double dt = 0;  ///< the step that led to this state; 0 for an initial condition
  Precision precision = Precision::float64;
  int compression = 0;  ///< level of deflate, 1 to 9; 0: contiguous and as it is. Checkpoints have none
  std::string config;   ///< the resolved run configuration, TOML
  BuildInfo build;
  std::optional<CheckpointRecord> checkpoint;  ///< makes the file a checkpoint (io/checkpoint.hpp)
};

/// "HDF5 1.10.8", of the library in use.
std::string hdf5_version();

/// Gives the view of one field of this rank's box, valid until the next call.
using FieldSource = std::function<FieldView(Field)>;

/// Bytes of a snapshot of `fields` fields, without the header (a few KiB).
std::int64_t snapshot_bytes(const Grid& grid, int fields, Precision precision);

/// Writes a snapshot, or a checkpoint. Collective over `comm`, whose boxes cover the grid once. The file appears under
/// `path` when it is complete and durable; until then it is called partial_name(path). Throws Error(everywhere) with
/// the message of the first rank that failed, and leaves no partial file behind. Extra memory per rank: about three
/// times `staging_bytes`, which a rank writes at once; more for compressed files (io/compressed_fields.hpp).
void write_snapshot(const std::string& path, const SnapshotHeader& header, std::span<const Field> fields,
                    const FieldSource& source, const Box& box, const Comm& comm,
                    std::size_t staging_bytes = std::size_t{4} << 20);

/// What a snapshot says about itself.
struct SnapshotInfo : SnapshotHeader {
  std::string path;
  std::int64_t format_version = 0;
  std::int64_t file_bytes = 0;
  std::int64_t field_bytes = 0;  ///< of the fields as they are stored
  std::vector<Field> fields;     ///< in the order of core/fields.hpp

  bool has(Field field) const;
};

/// A snapshot or checkpoint open for reading.
class SnapshotFile {
 public:
  /// By this process alone, also without MPI_Init.
  explicit SnapshotFile(const std::string& path) : SnapshotFile(path, Comm()) {}
  /// Collective over `comm`, as are then all reads; errors are thrown on every rank.
  SnapshotFile(const std::string& path, const Comm& comm);

  const SnapshotInfo& info() const { return info_; }
  /// Throws Error(io), naming both values, unless cells, origin and size are those of `grid`.
  void require_grid(const Grid& grid) const;
  /// Values [z][y][x] of a box of cells, float32 data converted exactly. `values` has box.volume() elements.
  /// `staging_bytes` bounds the size of one transfer.
  void read(Field field, const Box& box, std::span<double> values,
            std::size_t staging_bytes = std::size_t{32} << 20) const;

 private:
  Comm comm_;
  hdf5::File file_;
  SnapshotInfo info_;
};

/// Reads the attributes and checks that the datasets are there with the shape of the grid; serial.
SnapshotInfo read_snapshot_info(const std::string& path);

}  // namespace mhd
