#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <limits>
#include <system_error>

#include "core/error.hpp"
#include "io/agree.hpp"
#include "io/chunks.hpp"
#include "io/slabs.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_format.hpp"

namespace mhd {
namespace {

int to_int(std::int64_t value, const std::string& path, const char* what) {
  if (value < 1 || value > std::numeric_limits<int>::max())
    throw Error(ExitCode::io, fmt::format("{}: attribute '{}' is {}, expected a positive number", path, what, value));
  return static_cast<int>(value);
}

void read_header(const hdf5::File& file, SnapshotInfo& info) {
  const std::string& path = file.path();
  const std::string kind = file.has_attribute("format") ? file.read_text("format") : "";
  if (kind != snapshot_format::kind && kind != snapshot_format::checkpoint_kind)
    throw Error(ExitCode::io, fmt::format("{} is an HDF5 file, but not one that mhdsim wrote (expected the attribute "
                                          "format = \"{}\")",
                                          path, snapshot_format::kind));
  info.format_version = file.read_integers("format_version", 1)[0];
  if (info.format_version != snapshot_format::version)
    throw Error(ExitCode::io, fmt::format("{}: expected format version {}, found {}", path, snapshot_format::version,
                                          info.format_version));
  const auto cells = file.read_integers("cells", 3);
  const auto origin = file.read_reals("origin", 3);
  const auto size = file.read_reals("size", 3);
  for (int axis = 0; axis < 3; ++axis) {
    const auto index = static_cast<std::size_t>(axis);
    info.grid.cells[axis] = to_int(cells[index], path, "cells");
    info.grid.origin[axis] = origin[index];
    info.grid.size[axis] = size[index];
  }
  info.grid.order = to_int(file.read_integers("order", 1)[0], path, "order");
  info.time = file.read_reals("time", 1)[0];
  info.step = file.read_integers("step", 1)[0];
  info.dt = file.read_reals("dt", 1)[0];
  info.precision =
      file.read_text("precision") == snapshot_format::float32_name ? Precision::float32 : Precision::float64;
  info.config = file.read_text("config");
  info.build = {file.read_text("build_version"), file.read_text("build_revision"), file.read_text("build_compiler"),
                file.read_text("build_mpi"), file.read_text("build_hdf5")};
  if (kind == snapshot_format::checkpoint_kind)
    info.checkpoint = CheckpointRecord{file.read_reals("courant_dt", 1)[0], {}};
}

void check_dataset(const hdf5::File& file, const hdf5::DatasetId& dataset, const SnapshotInfo& info) {
  const Int3 cells = info.grid.cells;
  const std::vector<hsize_t> expected{static_cast<hsize_t>(cells.z), static_cast<hsize_t>(cells.y),
                                      static_cast<hsize_t>(cells.x)};
  const std::vector<hsize_t> found = hdf5::dataset_shape(dataset);
  if (found != expected)
    throw Error(ExitCode::io, fmt::format("{}: dataset '{}': expected shape [z][y][x] = {}, found {}", file.path(),
                                          hdf5::dataset_name(dataset), expected, found));
  const int bytes = hdf5::dataset_float_bytes(dataset), wanted = info.precision == Precision::float32 ? 4 : 8;
  if (bytes != wanted)
    throw Error(ExitCode::io, fmt::format("{}: dataset '{}': expected floating-point values of {} bytes, found {}",
                                          file.path(), hdf5::dataset_name(dataset), wanted,
                                          bytes == 0 ? std::string("another type") : fmt::format("{} bytes", bytes)));
}

SnapshotInfo examine(const hdf5::File& file) {
  SnapshotInfo info;
  info.path = file.path();
  read_header(file, info);
  for (int i = 0; i < max_fields; ++i) {
    const Field field = static_cast<Field>(i);
    const std::string dataset(name(field));
    if (!file.has_dataset(dataset)) continue;
    const hdf5::DatasetId id = file.open_dataset(dataset);
    check_dataset(file, id, info);
    info.fields.push_back(field);
    info.compression = std::max(info.compression, hdf5::deflate_level(id));
    info.field_bytes += hdf5::stored_bytes(id);
  }
  if (info.checkpoint)
    for (const std::int64_t sum : file.read_integers("checksums", info.fields.size()))
      info.checkpoint->checksums.push_back(static_cast<std::uint64_t>(sum));
  info.file_bytes = static_cast<std::int64_t>(std::filesystem::file_size(file.path()));
  return info;
}

/// HDF5's own words for a missing file or one of another kind help nobody.
void require_hdf5(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    throw Error(ExitCode::io,
                fmt::format("cannot open {}: {}", path, error ? error.message() : std::string("no such file")));
  if (!std::filesystem::is_regular_file(status))
    throw Error(ExitCode::io, fmt::format("cannot read {}: expected an HDF5 file, found a directory or device", path));
  if (!hdf5::looks_like_hdf5(path)) throw Error(ExitCode::io, fmt::format("{} is not an HDF5 file", path));
}

Box within_reason(const Box& box, const Box& bounds, const std::string& path) {
  if (!box.empty() && intersect(box, bounds) != box)
    throw Error(ExitCode::internal, fmt::format("{}: cells up to {} were asked for, the grid has {}", path,
                                                to_string(box.upper), to_string(bounds.upper)));
  return box;
}

}  // namespace

bool SnapshotInfo::has(Field field) const { return std::find(fields.begin(), fields.end(), field) != fields.end(); }

SnapshotFile::SnapshotFile(const std::string& path, const Comm& comm) : comm_(comm) {
  agree(comm, [&] {
    if (!comm.root()) return;
    require_hdf5(path);
    // MPI-IO asks for no lock: a file that another program is writing would be read all the same.
    if (comm.size() > 1) hdf5::File::open(path, Comm());
  });
  agree(comm, [&] { file_ = hdf5::File::open(path, comm); });
  agree(comm, [&] { info_ = examine(file_); });
}

void SnapshotFile::require_grid(const Grid& grid) const {
  const Grid& found = info_.grid;
  if (found.cells != grid.cells)
    throw Error(ExitCode::io,
                fmt::format("{}: expected a grid of {} cells, found {}", info_.path, to_string(grid.cells),
                            to_string(found.cells)),
                ErrorScope::everywhere);
  for (const auto& [what, expected, value] :
       {std::tuple("origin", grid.origin, found.origin), std::tuple("size", grid.size, found.size)})
    if (value != expected)
      throw Error(ExitCode::io,
                  fmt::format("{}: expected a grid with {} ({}, {}, {}), found ({}, {}, {})", info_.path, what,
                              expected.x, expected.y, expected.z, value.x, value.y, value.z),
                  ErrorScope::everywhere);
}

void SnapshotFile::read(Field field, const Box& box, std::span<double> values, std::size_t staging_bytes) const {
  hdf5::DatasetId dataset;
  std::vector<Box> pieces;
  agree(comm_, [&] {
    dataset = file_.open_dataset(std::string(name(field)));
    const auto limit = static_cast<std::int64_t>(std::max(staging_bytes / sizeof(double), std::size_t{1}));
    pieces = slabs(within_reason(box, info_.grid.box(), info_.path), limit);
    if (static_cast<std::int64_t>(values.size()) != box.volume())
      throw Error(ExitCode::internal, fmt::format("reading {} cells of {}: expected room for as many, found {}",
                                                  box.volume(), name(field), values.size()));
  });
  const std::int64_t rounds = comm_.maximum(static_cast<std::int64_t>(pieces.size()));
  std::exception_ptr failure;
  std::size_t offset = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    const auto index = static_cast<std::size_t>(round);
    const Box piece = index < pieces.size() ? pieces[index] : Box{};
    const auto count = static_cast<std::size_t>(piece.volume());
    try {
      hdf5::read_box(file_, dataset, piece, values.subspan(offset, count));
    } catch (const Error&) {
      if (!failure) failure = std::current_exception();
    }
    offset += count;
  }
  agree(comm_, [&] {
    if (failure) std::rethrow_exception(failure);
  });
}

SnapshotInfo read_snapshot_info(const std::string& path) { return SnapshotFile(path).info(); }

}  // namespace mhd
