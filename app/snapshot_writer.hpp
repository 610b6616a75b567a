#pragma once
// Writes the snapshots of a run and their XDMF index; while steps go on, where the solver can lend a copy of its
// fields.

#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/decomposition.hpp"
#include "core/solver.hpp"
#include "io/snapshot.hpp"
#include "io/xdmf.hpp"

namespace mhd {

class SnapshotWriter {
 public:
  /// Collective. `resolved_config` goes into the files.
  SnapshotWriter(const Config& config, const Decomposition& decomposition, const Comm& comm,
                 std::string resolved_config);
  /// Waits for a snapshot that is being written.
  ~SnapshotWriter();
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  /// Collective: hands over a snapshot of the present state, or writes it here and now. Waits for the one before and
  /// throws its error, if any, on every rank.
  void write(Solver& solver, const std::string& path, const std::string& xdmf_path, std::int64_t step, double t,
             double dt);
  /// Collective: returns when everything is on disk; throws the error of the last snapshot on every rank.
  void wait();

  /// On rank 0, of what is on disk after wait().
  std::int64_t files() const { return static_cast<std::int64_t>(snapshots_.size()); }
  std::int64_t bytes() const { return bytes_; }

 private:
  void write_file(const std::string& path, const std::string& xdmf_path, std::int64_t step, double t, double dt,
                  const FieldSource& source);

  const Config& config_;
  Grid grid_;
  Box box_;
  FieldSet set_;
  std::vector<Field> fields_;
  std::string resolved_config_;
  Comm comm_;  ///< of its own: a thread writes while the main loop communicates
  MPI_Comm duplicate_ = MPI_COMM_NULL;
  bool may_overlap_ = true;
  std::future<void> pending_;
  std::vector<XdmfSnapshot> snapshots_;
  std::int64_t bytes_ = 0;
};

/// The fields that snapshots hold, in the order of core/fields.hpp.
std::vector<Field> snapshot_fields(const Config& config);

}  // namespace mhd
