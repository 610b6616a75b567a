// Writing in two acts. Rank 0 alone lays the file out, header, coordinates and the places of the fields, and reserves
// its space: so metadata never depend on the ranks, and a full disk shows before anybody waits for anybody. Then all
// ranks open the file and write their cells collectively, changing nothing but raw data.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

#include "core/error.hpp"
#include "io/agree.hpp"
#include "io/file.hpp"
#include "io/seal.hpp"
#include "io/slabs.hpp"
#include "io/snapshot.hpp"
#include "io/snapshot_format.hpp"

namespace mhd {
namespace {

int bytes_per_value(Precision precision) { return precision == Precision::float32 ? 4 : 8; }

void write_header(hdf5::File& file, const SnapshotHeader& header) {
  const Grid& grid = header.grid;
  file.write_attribute("format", header.checkpoint ? snapshot_format::checkpoint_kind : snapshot_format::kind);
  file.write_attribute("format_version", snapshot_format::version);
  file.write_attribute("time", header.time);
  file.write_attribute("step", header.step);
  file.write_attribute("dt", header.dt);
  file.write_attribute("cells", std::array<std::int64_t, 3>{grid.cells.x, grid.cells.y, grid.cells.z});
  file.write_attribute("origin", std::array{grid.origin.x, grid.origin.y, grid.origin.z});
  file.write_attribute("size", std::array{grid.size.x, grid.size.y, grid.size.z});
  file.write_attribute("order", std::int64_t{grid.order});
  file.write_attribute("precision", header.precision == Precision::float32 ? snapshot_format::float32_name
                                                                           : snapshot_format::float64_name);
  file.write_attribute("config", header.config);
  file.write_attribute("build_version", header.build.version);
  file.write_attribute("build_revision", header.build.revision);
  file.write_attribute("build_compiler", header.build.compiler);
  file.write_attribute("build_mpi", header.build.mpi);
  file.write_attribute("build_hdf5", header.build.hdf5);
  if (!header.checkpoint) return;
  file.write_attribute("courant_dt", header.checkpoint->courant_dt);
  std::vector<std::int64_t> checksums;
  for (const std::uint64_t sum : header.checkpoint->checksums) checksums.push_back(static_cast<std::int64_t>(sum));
  file.write_attribute("checksums", checksums);
}

void write_coordinates(hdf5::File& file, const Grid& grid) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::string name(1, axis_name(axis));
    std::vector<double> centres(static_cast<std::size_t>(grid.cells[axis]));
    for (int i = 0; i < grid.cells[axis]; ++i) centres[static_cast<std::size_t>(i)] = grid.coordinate(axis, i);
    const hsize_t count = centres.size();
    const hdf5::DatasetId dataset = file.create_dataset(name, std::span(&count, 1), 8);
    hdf5::check(H5Dwrite(dataset.get(), hdf5::native_double(), H5S_ALL, H5S_ALL, H5P_DEFAULT, centres.data()),
                fmt::format("write dataset '{}' of", name), file.path());
  }
}

/// Returns where the fields are to be.
std::vector<FileRange> lay_out(const std::string& path, const SnapshotHeader& header, std::span<const Field> fields) {
  // HDF5 1.10 crashes at its end once a file could not be closed: what does not fit must show before it is asked.
  reserve_space(path, snapshot_bytes(header.grid, static_cast<int>(fields.size()), header.precision));
  hdf5::File file = hdf5::File::create(path);
  write_header(file, header);
  write_coordinates(file, header.grid);
  const Int3 cells = header.grid.cells;
  const std::array<hsize_t, 3> shape{static_cast<hsize_t>(cells.z), static_cast<hsize_t>(cells.y),
                                     static_cast<hsize_t>(cells.x)};
  std::vector<FileRange> places;
  for (const Field field : fields) {
    const auto dataset = file.create_dataset(std::string(name(field)), shape, bytes_per_value(header.precision));
    places.push_back({hdf5::dataset_offset(dataset, path), snapshot_bytes(header.grid, 1, header.precision)});
  }
  file.close();
  reserve_space(path);
  return places;
}

/// Rows of the view that lie in `slab` (cells relative to the view), one after the other.
template <class Value>
void gather(const FieldView& view, const Box& slab, Value* out) {
  const int count = slab.upper.x - slab.lower.x;
  for (int z = slab.lower.z; z < slab.upper.z; ++z)
    for (int y = slab.lower.y; y < slab.upper.y; ++y, out += count) {
      const double* row = view.data + slab.lower.x + y * view.stride_y + z * view.stride_z;
      std::transform(row, row + count, out, [](double value) { return static_cast<Value>(value); });
    }
}

Box shifted(const Box& box, Int3 by) { return {box.lower + by, box.upper + by}; }

/// The fields of one file, written through a staging buffer. A rank that fails still takes part in the remaining
/// transfers, since the others are in them; `finish` then tells everybody.
class FieldWriter {
 public:
  FieldWriter(const hdf5::File& file, Precision precision, const Box& box, const Comm& comm, std::size_t staging_bytes)
      : file_(file), precision_(precision), box_(box), comm_(comm) {
    agree(comm, [&] {
      const auto value_bytes = static_cast<std::size_t>(bytes_per_value(precision));
      const auto limit = static_cast<std::int64_t>(std::max(staging_bytes / value_bytes, std::size_t{1}));
      slabs_ = slabs({{0, 0, 0}, box.empty() ? Int3{0, 0, 0} : box.size()}, limit);
      std::int64_t largest = 1;
      for (const Box& slab : slabs_) largest = std::max(largest, slab.volume());
      staging_.resize(static_cast<std::size_t>(largest) * value_bytes);
    });
    rounds_ = comm.maximum(static_cast<std::int64_t>(slabs_.size()));
  }

  void write(const hdf5::DatasetId& dataset, Field field, const FieldSource& source) {
    FieldView view;
    attempt([&] { view = view_of(field, source); });
    for (std::int64_t round = 0; round < rounds_; ++round)
      attempt([&] { write_slab(dataset, view, static_cast<std::size_t>(round)); });
  }

  /// Collective; throws on every rank where any failed.
  void finish() {
    agree(comm_, [&] {
      if (failure_) std::rethrow_exception(failure_);
    });
  }

 private:
  template <class Action>
  void attempt(const Action& action) {
    try {
      action();
    } catch (const std::exception&) {
      if (!failure_) failure_ = std::current_exception();
    }
  }

  FieldView view_of(Field field, const FieldSource& source) const {
    if (box_.empty() || failure_) return {};
    const FieldView view = source(field);
    if (view.cells != box_.size())
      throw Error(ExitCode::internal, fmt::format("field {}: expected a view of {} cells, found {}", name(field),
                                                  to_string(box_.size()), to_string(view.cells)));
    return view;
  }

  void write_slab(const hdf5::DatasetId& dataset, const FieldView& view, std::size_t round) {
    const Box slab = round < slabs_.size() && view.data ? slabs_[round] : Box{};
    const bool single = precision_ == Precision::float32;
    if (!slab.empty()) {
      if (single)
        gather(view, slab, reinterpret_cast<float*>(staging_.data()));
      else
        gather(view, slab, reinterpret_cast<double*>(staging_.data()));
    }
    hdf5::write_box(file_, dataset, slab.empty() ? slab : shifted(slab, box_.lower),
                    single ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, staging_.data());
  }

  const hdf5::File& file_;
  Precision precision_;
  Box box_;
  const Comm& comm_;
  std::vector<Box> slabs_;  ///< of this rank, relative to its box
  std::vector<std::byte> staging_;
  std::int64_t rounds_ = 0;  ///< slabs of the rank that has most
  std::exception_ptr failure_;
};

void write_fields(const std::string& path, const SnapshotHeader& header, std::span<const Field> fields,
                  const FieldSource& source, const Box& box, const Comm& comm, std::size_t staging_bytes) {
  hdf5::File file;
  agree(comm, [&] { file = hdf5::File::open(path, true, comm); });
  {
    FieldWriter writer(file, header.precision, box, comm, staging_bytes);
    std::vector<hdf5::DatasetId> datasets;
    agree(comm, [&] {
      for (const Field field : fields) datasets.push_back(file.open_dataset(std::string(name(field))));
    });
    for (std::size_t i = 0; i < fields.size(); ++i) writer.write(datasets[i], fields[i], source);
    writer.finish();
  }
  agree(comm, [&] { file.flush(); });
  agree(comm, [&] { file.close(); });
}

}  // namespace

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("HDF5 {}.{}.{}", major, minor, release);
}

std::int64_t snapshot_bytes(const Grid& grid, int fields, Precision precision) {
  return grid.cells.product() * fields * bytes_per_value(precision);
}

void write_snapshot(const std::string& path, const SnapshotHeader& header, std::span<const Field> fields,
                    const FieldSource& source, const Box& box, const Comm& comm, std::size_t staging_bytes) {
  const std::string partial = partial_name(path);
  std::vector<FileRange> places;  // on rank 0
  try {
    agree(comm, [&] {
      if (comm.root()) places = lay_out(partial, header, fields);
    });
    write_fields(partial, header, fields, source, box, comm, staging_bytes);
    agree(comm, [&] {
      if (!comm.root()) return;
      if (header.checkpoint) seal_file(partial, places);
      publish_file(partial, path);
    });
  } catch (...) {
    if (comm.root()) ::unlink(partial.c_str());
    throw;
  }
}

}  // namespace mhd
