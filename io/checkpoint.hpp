#pragma once
// Checkpoints: snapshots of the whole state in float64 with what else the main loop needs to go on, sealed
// (io/seal.hpp) and with a checksum per field, so that damage anywhere in the file is found before anything is computed
// from it.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/comm.hpp"
#include "core/fields.hpp"
#include "io/snapshot.hpp"

namespace mhd {

/// Where a run has come to, besides its fields.
struct RunState {
  std::int64_t step = 0;
  double t = 0;
  double dt = 0;                     ///< the last step taken
  std::optional<double> courant_dt;  ///< the step of the Courant condition that is in force
};

/// Writes a checkpoint as write_snapshot does; `header` has the grid, the configuration and the build.
void write_checkpoint(const std::string& path, SnapshotHeader header, const RunState& state, FieldSet set,
                      const FieldSource& source, const Box& box, const Comm& comm);

/// A checkpoint open for reading, its seal verified.
class CheckpointFile {
 public:
  /// Collective. Throws Error(io, everywhere) naming the file, also where it is damaged.
  CheckpointFile(const std::string& path, const Comm& comm);

  const SnapshotInfo& info() const { return file_->info(); }
  RunState state() const;
  /// Collective: hands the values [z][y][x] of the cells of `box`, slot by slot, to `set`. The boxes of all ranks cover
  /// the grid once. Throws Error(io, everywhere) where the cells or fields are not those of the run, or where at the
  /// end the values turn out to be not those that were written.
  void read(Int3 cells, FieldSet fields, const Box& box,
            const std::function<void(int slot, std::span<const double>)>& set) const;

 private:
  Comm comm_;
  std::optional<SnapshotFile> file_;
};

}  // namespace mhd
