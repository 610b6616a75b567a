#include "io/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "io/agree.hpp"
#include "io/checksum.hpp"
#include "io/seal.hpp"

namespace mhd {

void write_checkpoint(const std::string& path, SnapshotHeader header, const RunState& state, FieldSet set,
                      const FieldSource& source, const Box& box, const Comm& comm) {
  header.step = state.step;
  header.time = state.t;
  header.dt = state.dt;
  header.precision = Precision::float64;
  std::vector<Field> fields;
  for (int slot = 0; slot < set.count(); ++slot) fields.push_back(set.field(slot));
  CheckpointRecord record{state.courant_dt.value_or(0), std::vector<std::uint64_t>(fields.size())};
  agree(comm, [&] {
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (!box.empty()) record.checksums[i] = field_checksum(source(fields[i]), box, header.grid.cells);
  });
  for (std::uint64_t& sum : record.checksums) sum = sum_checksums(sum, comm);
  header.checkpoint = std::move(record);
  write_snapshot(path, header, fields, source, box, comm);
}

CheckpointFile::CheckpointFile(const std::string& path, const Comm& comm) : comm_(comm) {
  agree(comm, [&] {
    if (comm.root()) require_seal(path);
  });
  file_.emplace(path, comm);
}

RunState CheckpointFile::state() const {
  const SnapshotInfo& i = info();
  const double courant_dt = i.checkpoint->courant_dt;
  return {i.step, i.time, i.dt, courant_dt > 0 ? std::optional(courant_dt) : std::nullopt};
}

void CheckpointFile::read(Int3 cells, FieldSet fields, const Box& box,
                          const std::function<void(int, std::span<const double>)>& set) const {
  const SnapshotInfo& i = info();
  if (i.grid.cells != cells)
    throw Error(
        ExitCode::io,
        fmt::format("{}: expected a grid of {} cells, found {}", i.path, to_string(cells), to_string(i.grid.cells)),
        ErrorScope::everywhere);
  std::vector<double> values(static_cast<std::size_t>(box.volume()));
  for (int slot = 0; slot < fields.count(); ++slot) {
    const Field field = fields.field(slot);
    const auto found = std::find(i.fields.begin(), i.fields.end(), field);
    if (found == i.fields.end())
      throw Error(ExitCode::io,
                  fmt::format("{}: expected all fields of the run, found no dataset '{}'", i.path, name(field)),
                  ErrorScope::everywhere);
    file_->read(field, box, values);
    const Int3 size = box.size();
    const FieldView view{values.data(), size, size.x, std::ptrdiff_t{size.x} * size.y};
    const std::uint64_t sum = sum_checksums(box.empty() ? 0 : field_checksum(view, box, cells), comm_);
    if (sum != i.checkpoint->checksums[static_cast<std::size_t>(found - i.fields.begin())])
      throw Error(ExitCode::io,
                  fmt::format("{} is damaged: the checksum of field {} does not match", i.path, name(field)),
                  ErrorScope::everywhere);
    set(slot, values);
  }
}

}  // namespace mhd
