#include "app/restart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>

#include "app/version.hpp"
#include "core/error.hpp"
#include "io/agree.hpp"
#include "io/config_changes.hpp"
#include "io/config_file.hpp"
#include "io/seal.hpp"

namespace mhd {
namespace {

constexpr const char* latest = "latest";

/// The checkpoints to try, the best one first; of all ranks those that rank 0 sees.
std::vector<std::string> candidates(const RunOptions& options, const Config& config, const Comm& comm) {
  if (options.restart != latest) return {options.restart};
  std::string names;
  agree(comm, [&] {
    if (!comm.root()) return;
    for (const StepFile& checkpoint : checkpoints_in(config.output.directory)) names += checkpoint.path + '\n';
    if (names.empty())
      throw Error(ExitCode::io, fmt::format("--restart latest: there is no checkpoint in {}", config.output.directory));
  });
  std::istringstream lines(comm.broadcast(names));
  std::vector<std::string> paths;
  for (std::string line; std::getline(lines, line);) paths.push_back(line);
  return paths;
}

/// A key, or a table with all of its keys.
bool allowed(const std::string& name, const std::vector<std::string>& allow_change) {
  return std::any_of(allow_change.begin(), allow_change.end(),
                     [&](const std::string& word) { return name == word || name.starts_with(word + '.'); });
}

/// Whether a key changed that decides about the solution. Throws unless that is allowed.
bool solution_changes(const SnapshotInfo& info, const Config& config, const RunOptions& options) {
  Config before;
  try {
    before = parse_config(info.config, info.path);
  } catch (const Error& error) {
    throw Error(ExitCode::io,
                fmt::format("{} holds a configuration that this version does not know:\n{}", info.path, error.what()),
                ErrorScope::everywhere);
  }
  bool changes = false;
  std::string refused;
  for (const ConfigChange& change : config_changes(before, config)) {
    if (change.key->change != KeyChange::frozen) continue;
    changes = true;
    if (!allowed(change.key->name, options.allow_change))
      refused += fmt::format("{}: the checkpoint has {}, the configuration {}\n", change.key->name, change.before,
                             change.after);
  }
  if (!refused.empty())
    throw Error(ExitCode::configuration,
                fmt::format("keys that must not change on restart differ from those of {}:\n{}if that is meant, add "
                            "--allow-change KEY",
                            info.path, refused),
                ErrorScope::everywhere);
  return changes;
}

Restored load(const std::string& path, const RunOptions& options, const Config& config,
              const Decomposition& decomposition, const Comm& comm, Solver& solver) {
  const CheckpointFile file(path, comm);
  Restored restored{file.state(), {}};
  // A step of other Courant numbers must not live on.
  if (solution_changes(file.info(), config, options)) restored.state.courant_dt.reset();
  file.read(config.grid.cells, config.physics.fields(), decomposition.box(comm.rank()),
            [&](int slot, std::span<const double> values) { solver.set_field(slot, values); });
  restored.notes.push_back(
      fmt::format("continues from {}: step {}, t = {:.6g}", path, restored.state.step, restored.state.t));
  const BuildInfo& build = file.info().build;
  if (build.revision != build_info().revision)
    restored.notes.push_back(
        fmt::format("which another revision wrote ({} {}): the bits may differ from those of an "
                    "unbroken run",
                    build.version, build.revision));
  return restored;
}

}  // namespace

EarlierRun earlier_run(const RunOptions& options, const Config& config, const Comm& comm) {
  const EarlierRun otherwise = options.overwrite ? EarlierRun::replace : EarlierRun::refuse;
  if (options.restart.empty()) return otherwise;
  candidates(options, config, comm);
  bool in_place = options.restart == latest;
  agree(comm, [&] {
    if (!comm.root() || in_place) return;
    require_seal(options.restart);
    std::error_code no_directory_yet;
    in_place = std::filesystem::equivalent(std::filesystem::absolute(options.restart).parent_path(),
                                           config.output.directory, no_directory_yet);
  });
  in_place = comm.maximum(std::int64_t{in_place}) == 1;
  if (in_place && options.overwrite)
    throw Error(ExitCode::usage, "--overwrite would remove the checkpoint that --restart starts from: give one of both",
                ErrorScope::everywhere);
  return in_place ? EarlierRun::keep : otherwise;
}

Restored restore(const RunOptions& options, const Config& config, const Decomposition& decomposition, const Comm& comm,
                 Solver& solver) {
  std::vector<std::string> skipped;
  for (const std::string& path : candidates(options, config, comm)) {
    try {
      Restored restored = load(path, options, config, decomposition, comm, solver);
      restored.notes.insert(restored.notes.begin(), skipped.begin(), skipped.end());
      return restored;
    } catch (const Error& error) {
      const bool another_may_do = options.restart == latest && error.code() == ExitCode::io;
      // Not damaged, and going on from an older one would remove it.
      const bool held = std::string_view(error.what()).find("HDF5_USE_FILE_LOCKING") != std::string_view::npos;
      if (!another_may_do || held || error.scope() != ErrorScope::everywhere) throw;
      skipped.push_back(fmt::format("skipped a checkpoint: {}", error.what()));
    }
  }
  throw Error(ExitCode::io,
              fmt::format("no checkpoint in {} can be used:\n{}", config.output.directory, fmt::join(skipped, "\n")),
              ErrorScope::everywhere);
}

}  // namespace mhd
