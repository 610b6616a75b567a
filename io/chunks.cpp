#include "io/chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.hpp"
#include "io/file.hpp"

namespace mhd::hdf5 {
namespace {

std::array<hsize_t, 3> extent(Int3 n) {
  return {static_cast<hsize_t>(n.z), static_cast<hsize_t>(n.y), static_cast<hsize_t>(n.x)};
}

PropertyList chunked(Int3 chunk, int bytes_per_value, int level, const std::string& operation,
                     const std::string& path) {
  if (chunk.product() * bytes_per_value >= chunk_bytes_limit)
    throw Error(ExitCode::internal, fmt::format("cannot {} {}: a chunk of {} cells of {} bytes has 4 GiB or more, "
                                                "expected less",
                                                operation, path, to_string(chunk), bytes_per_value));
  if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) <= 0 || H5Zfilter_avail(H5Z_FILTER_SHUFFLE) <= 0)
    throw Error(ExitCode::io, fmt::format("cannot {} {}: this HDF5 was built without the filters deflate and shuffle; "
                                          "expected one with them, or output.snapshot_compression = 0",
                                          operation, path));
  PropertyList list(check(H5Pcreate(H5P_DATASET_CREATE), operation, path));
  check(H5Pset_chunk(list.get(), 3, extent(chunk).data()), operation, path);
  check(H5Pset_shuffle(list.get()), operation, path);
  check(H5Pset_deflate(list.get(), static_cast<unsigned>(level)), operation, path);
  check(H5Pset_fill_time(list.get(), H5D_FILL_TIME_NEVER), operation, path);
  check(H5Pset_obj_track_times(list.get(), false), operation, path);
  return list;
}

DatasetId create(hid_t file, const std::string& name, Int3 cells, const PropertyList& list, int bytes_per_value,
                 const std::string& operation, const std::string& path) {
  const Space space(check(H5Screate_simple(3, extent(cells).data(), nullptr), operation, path));
  return DatasetId(check(
      H5Dcreate2(file, name.c_str(), file_type(bytes_per_value), space.get(), H5P_DEFAULT, list.get(), H5P_DEFAULT),
      operation, path));
}

}  // namespace

Int3 chunk_shape(Int3 cells, int bytes_per_value, std::int64_t limit) {
  const std::int64_t most = std::max<std::int64_t>(1, limit / bytes_per_value);
  const auto fitting = [&](std::int64_t unit, int count) {
    return static_cast<int>(std::clamp<std::int64_t>(most / unit, 1, count));
  };
  return {fitting(1, cells.x), fitting(cells.x, cells.y), fitting(std::int64_t{cells.x} * cells.y, cells.z)};
}

DatasetId create_chunked_dataset(File& file, const std::string& name, Int3 cells, Int3 chunk, int bytes_per_value,
                                 int level) {
  const std::string operation = fmt::format("create dataset '{}' in", name);
  const PropertyList list = chunked(chunk, bytes_per_value, level, operation, file.path());
  return create(file.id(), name, cells, list, bytes_per_value, operation, file.path());
}

std::string compressed_chunk(std::span<const std::byte> values, Int3 chunk, int bytes_per_value, int level,
                             const std::string& path) {
  const std::string operation = "compress a part of";
  // A file in memory that is never written out: its one chunk goes through the filters of the real dataset.
  const PropertyList access(check(H5Pcreate(H5P_FILE_ACCESS), operation, path));
  check(H5Pset_fapl_core(access.get(), values.size() + 65536, false), operation, path);
  const Id<H5Fclose> file(
      check(H5Fcreate("a chunk in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), operation, path));
  const PropertyList list = chunked(chunk, bytes_per_value, level, operation, path);
  const DatasetId dataset = create(file.get(), "chunk", chunk, list, bytes_per_value, operation, path);
  check(H5Dwrite(dataset.get(), bytes_per_value == 4 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL,
                 H5P_DEFAULT, values.data()),
        operation, path);
  const std::array<hsize_t, 3> first{};
  hsize_t size = 0;
  check(H5Dget_chunk_storage_size(dataset.get(), first.data(), &size), operation, path);
  std::uint32_t skipped = 0;
  std::string stored(sizeof skipped + size, '\0');
  check(H5Dread_chunk(dataset.get(), H5P_DEFAULT, first.data(), &skipped, stored.data() + sizeof skipped), operation,
        path);
  std::memcpy(stored.data(), &skipped, sizeof skipped);
  return stored;
}

StoredChunk write_compressed_chunk(const File& file, const DatasetId& dataset, Int3 lower, const std::string& stored) {
  const std::string operation = fmt::format("write dataset '{}' of", dataset_name(dataset));
  std::uint32_t skipped = 0;
  std::memcpy(&skipped, stored.data(), sizeof skipped);
  const std::string_view bytes = std::string_view(stored).substr(sizeof skipped);
  check(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, skipped, extent(lower).data(), bytes.size(), bytes.data()),
        operation, file.path());
  // The driver of files in memory buffers: what it wrote later would bring back pages that are no longer wanted.
  void* handle = nullptr;
  check(H5Fget_vfd_handle(file.id(), H5P_DEFAULT, &handle), operation, file.path());
  if (std::fflush(*static_cast<std::FILE**>(handle)) != 0) throw_file_error(operation, file.path(), errno);
  haddr_t offset = 0;
  check(H5Dget_chunk_info_by_coord(dataset.get(), extent(lower).data(), nullptr, &offset, nullptr), operation,
        file.path());
  return {static_cast<std::int64_t>(offset), bytes};
}

int deflate_level(const DatasetId& dataset) {
  const PropertyList list(H5Dget_create_plist(dataset.get()));
  const int filters = list.get() < 0 ? 0 : H5Pget_nfilters(list.get());
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, level = 0, configuration = 0;
    std::size_t count = 1;
    if (H5Pget_filter2(list.get(), static_cast<unsigned>(i), &flags, &count, &level, 0, nullptr, &configuration) ==
        H5Z_FILTER_DEFLATE)
      return static_cast<int>(level);
  }
  return 0;
}

std::int64_t stored_bytes(const DatasetId& dataset) {
  return static_cast<std::int64_t>(H5Dget_storage_size(dataset.get()));
}

}  // namespace mhd::hdf5
