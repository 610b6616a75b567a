#include "app/checkpoint_writer.hpp"

#include <filesystem>
#include <system_error>

#include "app/version.hpp"
#include "io/agree.hpp"
#include "io/run_directory.hpp"

namespace mhd {
namespace {

/// One that cannot be removed does no harm.
void remove_all_but(int kept, const std::string& directory) {
  const auto checkpoints = checkpoints_in(directory);
  std::error_code ignored;
  for (std::size_t i = static_cast<std::size_t>(kept); i < checkpoints.size(); ++i)
    std::filesystem::remove(checkpoints[i].path, ignored);
}

}  // namespace

CheckpointWriter::CheckpointWriter(FieldSet set, const Decomposition& decomposition, const Comm& comm,
                                   BackgroundWriter& background)
    : grid_(decomposition.grid()),
      box_(decomposition.box(comm.rank())),
      set_(set),
      background_(background),
      times_(snapshot_bytes(decomposition.grid(), set.count(), Precision::float64)) {}

void CheckpointWriter::write(Solver& solver, const std::string& path, const std::string& resolved_config, int kept,
                             const RunState& state) {
  std::vector<Field> fields;
  for (int slot = 0; slot < set_.count(); ++slot) fields.push_back(set_.field(slot));
  SnapshotHeader header;
  header.grid = grid_;
  header.config = resolved_config;
  header.build = build_info();
  background_.start(solver, fields, times_, [=, this](const FieldSource& source, const Comm& comm) {
    write_checkpoint(path, header, state, set_, source, box_, comm);
    agree(comm, [&] {
      if (comm.root()) remove_all_but(kept, std::filesystem::path(path).parent_path().string());
    });
  });
}

}  // namespace mhd
