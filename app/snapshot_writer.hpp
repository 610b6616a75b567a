#pragma once
// The snapshots of a run and their XDMF index.

#include <cstdint>
#include <string>
#include <vector>

#include "app/background_writer.hpp"
#include "app/write_times.hpp"
#include "core/config.hpp"
#include "core/decomposition.hpp"
#include "io/checkpoint.hpp"
#include "io/run_directory.hpp"
#include "io/snapshot.hpp"
#include "io/xdmf.hpp"

namespace mhd {

class SnapshotWriter {
 public:
  SnapshotWriter(const Config& config, const Decomposition& decomposition, const Comm& comm,
                 BackgroundWriter& background);

  /// Rank 0: the snapshots that are there already, and the index of all. Returns a line for each that cannot be read
  /// and is left out of the index.
  std::vector<std::string> adopt(const std::vector<StepFile>& files, const std::string& xdmf_path);

  /// Collective: hands over a snapshot of the present state. `paths` matter on rank 0 for the index.
  void write(Solver& solver, const Config& config, const std::string& resolved_config, const std::string& path,
             const std::string& xdmf_path, const RunState& state);

  /// On rank 0, of what is on disk once the background writer has been waited for.
  std::int64_t files() const { return static_cast<std::int64_t>(snapshots_.size()); }
  std::int64_t bytes() const { return bytes_; }

  /// Wall-clock seconds that the slowest one took so far; before the first an estimate from its size.
  double slowest_seconds() const { return times_.slowest(); }

 private:
  Grid grid_;
  Box box_;
  BackgroundWriter& background_;
  std::vector<XdmfSnapshot> snapshots_;
  std::int64_t bytes_ = 0;
  WriteTimes times_;
};

/// The fields that snapshots hold, in the order of core/fields.hpp.
std::vector<Field> snapshot_fields(const Config& config);

}  // namespace mhd
