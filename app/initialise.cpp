#include "app/initialise.hpp"

#include <fmt/core.h>

#include <optional>
#include <vector>

#include "core/error.hpp"
#include "core/initial.hpp"
#include "io/snapshot.hpp"

namespace mhd {

void for_each_initial_field(const Config& config, const Box& box, const Comm& comm,
                            const std::function<void(int, std::span<const double>)>& set) {
  const Grid grid(config.grid);
  const FieldSet fields = config.physics.fields();
  std::optional<SnapshotFile> file;
  if (config.initial.kind == InitialKind::snapshot) {
    file.emplace(config.initial.file, comm);
    file->require_grid(grid);
  }
  std::vector<double> values(static_cast<std::size_t>(box.volume()));
  for (int slot = 0; slot < fields.count(); ++slot) {
    const Field field = fields.field(slot);
    if (file) {
      if (!file->info().has(field))
        throw Error(
            ExitCode::io,
            fmt::format("{}: expected all fields of the run, found no dataset '{}'", config.initial.file, name(field)),
            ErrorScope::everywhere);
      file->read(field, box, values);
    }
    initial_field(config, grid, box, field, values);
    set(slot, values);
  }
}

}  // namespace mhd
