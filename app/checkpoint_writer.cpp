#include "app/checkpoint_writer.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "app/version.hpp"
#include "io/agree.hpp"
#include "io/run_directory.hpp"

namespace mhd {
namespace {

// What a slow file system does; a guess that matters to a time limit that comes before the first checkpoint only.
constexpr double assumed_bytes_per_second = 5e8, assumed_seconds = 1;

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
      slowest_seconds_(assumed_seconds +
                       static_cast<double>(snapshot_bytes(decomposition.grid(), set.count(), Precision::float64)) /
                           assumed_bytes_per_second) {}

void CheckpointWriter::write(Solver& solver, const std::string& path, const std::string& resolved_config, int kept,
                             const RunState& state) {
  std::vector<Field> fields;
  for (int slot = 0; slot < set_.count(); ++slot) fields.push_back(set_.field(slot));
  SnapshotHeader header;
  header.grid = grid_;
  header.config = resolved_config;
  header.build = build_info();
  background_.start(solver, fields, [=, this](const FieldSource& source, const Comm& comm) {
    const auto started = std::chrono::steady_clock::now();
    write_checkpoint(path, header, state, set_, source, box_, comm);
    agree(comm, [&] {
      if (comm.root()) remove_all_but(kept, std::filesystem::path(path).parent_path().string());
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    slowest_seconds_ = any_ ? std::max(slowest_seconds_.load(), seconds) : seconds;
    any_ = true;
  });
}

}  // namespace mhd
