#include "app/snapshot_writer.hpp"

#include <mpi.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/version.hpp"
#include "core/mpi_check.hpp"
#include "io/agree.hpp"

namespace mhd {

std::vector<Field> snapshot_fields(const Config& config) {
  std::vector<Field> fields = config.output.snapshot_fields;
  if (fields.empty()) {
    const FieldSet set = config.physics.fields();
    for (int slot = 0; slot < set.count(); ++slot) fields.push_back(set.field(slot));
  }
  std::sort(fields.begin(), fields.end());
  return fields;
}

SnapshotWriter::SnapshotWriter(const Config& config, const Decomposition& decomposition, const Comm& comm,
                               std::string resolved_config)
    : config_(config),
      grid_(config.grid),
      box_(decomposition.box(comm.rank())),
      set_(config.physics.fields()),
      fields_(snapshot_fields(config)),
      resolved_config_(std::move(resolved_config)) {
  if (comm.size() == 1) return;  // no MPI at all in the writing thread
  check_mpi(MPI_Comm_dup(comm.handle(), &duplicate_), "MPI_Comm_dup");
  comm_ = Comm(duplicate_);
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  may_overlap_ = comm_.minimum(std::int64_t{level == MPI_THREAD_MULTIPLE}) == 1;
}

SnapshotWriter::~SnapshotWriter() {
  if (pending_.valid()) pending_.wait();
  if (duplicate_ != MPI_COMM_NULL) MPI_Comm_free(&duplicate_);
}

void SnapshotWriter::write(Solver& solver, const std::string& path, const std::string& xdmf_path, std::int64_t step,
                           double t, double dt) {
  wait();  // its views end with the next capture
  std::vector<FieldView> views;
  if (may_overlap_) {
    std::vector<int> slots;
    for (const Field f : fields_) slots.push_back(set_.slot(f));
    views = solver.capture(slots);
  }
  const bool overlap = comm_.minimum(std::int64_t{!views.empty()}) == 1;
  if (!overlap) {
    write_file(path, xdmf_path, step, t, dt, [&](Field f) { return solver.field(set_.slot(f)); });
    return;
  }
  pending_ = std::async(std::launch::async, [this, views = std::move(views), path, xdmf_path, step, t, dt] {
    write_file(path, xdmf_path, step, t, dt, [&](Field f) {
      return views[static_cast<std::size_t>(std::find(fields_.begin(), fields_.end(), f) - fields_.begin())];
    });
  });
}

void SnapshotWriter::wait() {
  if (pending_.valid()) pending_.get();
}

void SnapshotWriter::write_file(const std::string& path, const std::string& xdmf_path, std::int64_t step, double t,
                                double dt, const FieldSource& source) {
  const SnapshotHeader header{grid_, t, step, dt, config_.output.snapshot_precision, resolved_config_, build_info()};
  write_snapshot(path, header, fields_, source, box_, comm_);
  agree(comm_, [&] {
    if (!comm_.root()) return;
    bytes_ += static_cast<std::int64_t>(std::filesystem::file_size(path));
    snapshots_.push_back({path, t});
    write_xdmf(xdmf_path, grid_, header.precision, fields_, snapshots_);
  });
}

}  // namespace mhd
