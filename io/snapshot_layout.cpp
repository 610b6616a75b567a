#include "io/snapshot_layout.hpp"

#include <fmt/format.h>

#include <array>

#include "io/chunks.hpp"
#include "io/snapshot_format.hpp"

namespace mhd {
namespace {

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

}  // namespace

int bytes_per_value(Precision precision) { return precision == Precision::float32 ? 4 : 8; }

SnapshotLayout lay_out(const std::string& path, const SnapshotHeader& header, std::span<const Field> fields) {
  FileImage image(path);
  hdf5::File file = hdf5::File::create(image.place(), path);
  write_header(file, header);
  write_coordinates(file, header.grid);
  const Int3 cells = header.grid.cells;
  const int value_bytes = bytes_per_value(header.precision);
  const std::array<hsize_t, 3> shape{static_cast<hsize_t>(cells.z), static_cast<hsize_t>(cells.y),
                                     static_cast<hsize_t>(cells.x)};
  std::vector<FileRange> places;
  for (const Field field : fields) {
    const std::string dataset(name(field));
    if (header.compression > 0)
      hdf5::create_chunked_dataset(file, dataset, cells, hdf5::chunk_shape(cells, value_bytes), value_bytes,
                                   header.compression);
    else
      places.push_back({hdf5::dataset_offset(file.create_dataset(dataset, shape, value_bytes), path),
                        snapshot_bytes(header.grid, 1, header.precision)});
  }
  return {std::move(image), std::move(file), std::move(places)};
}

std::int64_t most_bytes(const SnapshotHeader& header, std::span<const Field> fields) {
  const auto count = static_cast<std::int64_t>(fields.size());
  const std::int64_t field = snapshot_bytes(header.grid, 1, header.precision);
  const Int3 n = header.grid.cells;
  const std::int64_t coordinates = 8 * (std::int64_t{n.x} + n.y + n.z);
  // Arrays of 1 MiB and more start at multiples of that. A chunk that does not shrink may grow a little, and its entry
  // in an index takes less than a kilobyte.
  const auto padding = [](std::int64_t bytes, std::int64_t arrays) { return bytes >> 20 > 0 ? arrays << 20 : 0; };
  const std::int64_t metadata = (std::int64_t{1} << 17) + static_cast<std::int64_t>(header.config.size());
  return count * (field + field / 512) + padding(field, count + 1) + coordinates + padding(coordinates, 4) + metadata;
}

}  // namespace mhd
