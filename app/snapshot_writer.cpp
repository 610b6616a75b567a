#include "app/snapshot_writer.hpp"

#include <algorithm>
#include <filesystem>

#include "app/version.hpp"
#include "core/error.hpp"
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
                               BackgroundWriter& background)
    : grid_(decomposition.grid()),
      box_(decomposition.box(comm.rank())),
      background_(background),
      times_(
          snapshot_bytes(grid_, static_cast<int>(snapshot_fields(config).size()), config.output.snapshot_precision)) {}

std::vector<std::string> SnapshotWriter::adopt(const std::vector<StepFile>& files, const std::string& xdmf_path) {
  std::vector<std::string> unreadable;
  for (const StepFile& file : files) {
    try {
      const SnapshotInfo info = read_snapshot_info(file.path);
      snapshots_.push_back({file.path, info.time, info.precision, info.fields});
      bytes_ += info.file_bytes;
    } catch (const Error& error) {
      unreadable.push_back(std::string("left out of the index of snapshots: ") + error.what());
    }
  }
  if (snapshots_.empty())
    std::filesystem::remove(xdmf_path);
  else
    write_xdmf(xdmf_path, grid_, snapshots_);
  return unreadable;
}

void SnapshotWriter::write(Solver& solver, const Config& config, const std::string& resolved_config,
                           const std::string& path, const std::string& xdmf_path, const RunState& state) {
  SnapshotHeader header;
  header.grid = grid_;
  header.time = state.t;
  header.step = state.step;
  header.dt = state.dt;
  header.precision = config.output.snapshot_precision;
  header.compression = config.output.snapshot_compression;
  header.config = resolved_config;
  header.build = build_info();
  const std::vector<Field> fields = snapshot_fields(config);
  background_.start(solver, fields, times_, [=, this](const FieldSource& source, const Comm& comm) {
    write_snapshot(path, header, fields, source, box_, comm);
    agree(comm, [&] {
      if (!comm.root()) return;
      bytes_ += static_cast<std::int64_t>(std::filesystem::file_size(path));
      snapshots_.push_back({path, header.time, header.precision, fields});
      write_xdmf(xdmf_path, grid_, snapshots_);
    });
  });
}

}  // namespace mhd
