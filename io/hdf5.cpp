#include "io/hdf5.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/error.hpp"
#include "io/system_error.hpp"

namespace mhd::hdf5 {
namespace {

/// HDF5 prints its error stack to stderr unless told not to, per thread.
void silence() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

herr_t keep_innermost(unsigned depth, const H5E_error2_t* entry, void* out) {
  auto& cause = *static_cast<std::string*>(out);
  if (depth == 0 && entry->desc) cause = entry->desc;
  return 0;
}

/// The file drivers describe a failed system call with times and addresses around the one thing that matters.
std::string essence(std::string cause) {
  constexpr std::string_view key = "error message = '";
  if (const auto start = cause.find(key); start != std::string::npos) {
    const auto from = start + key.size();
    const auto what = cause.substr(0, std::min(cause.find(':'), cause.find(',')));
    cause = what + ": " + cause.substr(from, cause.find('\'', from) - from);
  }
  while (!cause.empty() && (cause.back() == '\n' || cause.back() == ' ')) cause.pop_back();
  std::replace(cause.begin(), cause.end(), '\n', ' ');
  return cause;
}

/// "unable to lock file: Resource temporarily unavailable": somebody has the lock, or there are none.
std::string about_locks(const std::string& cause) {
  const bool locks = cause.find("lock file") != std::string::npos || cause.find("file lock") != std::string::npos;
  if (!locks) return "";
  if (cause.find(std::strerror(EWOULDBLOCK)) != std::string::npos)
    return " (another program has the file open for writing: wait until it has closed it, or, where it only seems so, "
           "set the environment variable HDF5_USE_FILE_LOCKING=FALSE)";
  return " (the file system has no file locks: set the environment variable HDF5_USE_FILE_LOCKING=FALSE)";
}

std::string innermost_cause() {
  std::string cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &cause);
  H5Eclear2(H5E_DEFAULT);
  if (cause.empty()) return "HDF5 gives no reason";
  cause = essence(std::move(cause));
  if (const std::string locks = about_locks(cause); !locks.empty()) return cause + locks;
  const auto error_number = error_number_in(cause);
  return error_number ? system_error_text(*error_number) : cause;
}

PropertyList property_list(hid_t kind, const std::string& path) {
  return PropertyList(check(H5Pcreate(kind), "make a property list for", path));
}

PropertyList access_list(const std::string& path) {
  PropertyList access = property_list(H5P_FILE_ACCESS, path);
  // Format of HDF5 1.8: every reader knows it, its metadata carry checksums, and attributes may exceed 64 KiB.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18), "choose the format of", path);
  return access;
}

Space simple_space(std::span<const hsize_t> shape, const std::string& path) {
  return Space(
      check(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), "describe data of", path));
}

/// File and memory selections and transfer properties of a box.
struct Transfer {
  Space file_space, memory_space;
  PropertyList properties;
};

Transfer plan_transfer(const File& file, const DatasetId& dataset, const Box& box) {
  const std::string& path = file.path();
  Transfer transfer;
  transfer.file_space = Space(check(H5Dget_space(dataset.get()), "describe data of", path));
  const Int3 size = box.empty() ? Int3{1, 1, 1} : box.size();
  const hsize_t cells = static_cast<hsize_t>(size.product());
  transfer.memory_space = simple_space(std::span(&cells, 1), path);
  if (box.empty()) {
    check(H5Sselect_none(transfer.file_space.get()), "select no cells of", path);
    check(H5Sselect_none(transfer.memory_space.get()), "select no cells of", path);
  } else {
    const auto extent = [](int z, int y, int x) {
      return std::array<hsize_t, 3>{static_cast<hsize_t>(z), static_cast<hsize_t>(y), static_cast<hsize_t>(x)};
    };
    const auto start = extent(box.lower.z, box.lower.y, box.lower.x);
    const auto count = extent(size.z, size.y, size.x);
    check(H5Sselect_hyperslab(transfer.file_space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
          "select cells of", path);
  }
  transfer.properties = property_list(H5P_DATASET_XFER, path);
  if (file.parallel())
    check(H5Pset_dxpl_mpio(transfer.properties.get(), H5FD_MPIO_COLLECTIVE), "ask for collective access to", path);
  return transfer;
}

}  // namespace

void fail(const std::string& operation, const std::string& path) {
  throw Error(ExitCode::io, fmt::format("cannot {} {}: {}", operation, path, innermost_cause()));
}

bool looks_like_hdf5(const std::string& path) {
  silence();
  return H5Fis_hdf5(path.c_str()) != 0;
}

hid_t native_double() { return H5T_NATIVE_DOUBLE; }
hid_t file_type(int bytes) { return bytes == 4 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE; }

File File::create(const std::string& place, const std::string& path) {
  silence();
  const PropertyList access = access_list(path);
  // The usual driver wants to know the true path of a link, which a file in memory does not have.
  check(H5Pset_fapl_stdio(access.get()), "choose the driver of", path);
  check(H5Pset_file_locking(access.get(), false, true), "choose the locking of", path);
  // Large arrays start on a boundary that suits parallel file systems.
  constexpr hsize_t large = hsize_t{1} << 20;
  check(H5Pset_alignment(access.get(), large, large), "align", path);
  const PropertyList creation = property_list(H5P_FILE_CREATE, path);
  check(H5Pset_obj_track_times(creation.get(), false), "leave time stamps out of", path);
  const hid_t id = H5Fcreate(place.c_str(), H5F_ACC_TRUNC, creation.get(), access.get());
  return File(Id<H5Fclose>(check(id, "create", path)), path, false);
}

File File::open(const std::string& path, const Comm& comm) {
  silence();
  const bool parallel = comm.size() > 1;
  const PropertyList access = access_list(path);
  // Locks are needed where the file system has them only.
  check(H5Pset_file_locking(access.get(), true, true), "choose the locking of", path);
  if (parallel) check(H5Pset_fapl_mpio(access.get(), comm.handle(), MPI_INFO_NULL), "use MPI-IO for", path);
  const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
  return File(Id<H5Fclose>(check(id, "open", path)), path, parallel);
}

void File::close() { check(H5Fclose(id_.release()), "close", path_); }

std::string File::attribute_label(const std::string& name) const { return fmt::format("attribute '{}' of", name); }

void File::write_attribute(const std::string& name, const std::string& text) {
  const std::string operation = "write " + attribute_label(name);
  const Type type(check(H5Tcopy(H5T_C_S1), operation, path_));
  check(H5Tset_size(type.get(), text.size() + 1), operation, path_);
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), operation, path_);
  const Space space(check(H5Screate(H5S_SCALAR), operation, path_));
  const AttributeId attribute(
      check(H5Acreate2(id(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), operation, path_));
  check(H5Awrite(attribute.get(), type.get(), text.c_str()), operation, path_);
}

template <class Number>
void File::write_numbers(const std::string& name, std::span<const Number> values, hid_t stored, hid_t memory) {
  const std::string operation = "write " + attribute_label(name);
  const hsize_t count = values.size();
  const Space space =
      count == 1 ? Space(check(H5Screate(H5S_SCALAR), operation, path_)) : simple_space(std::span(&count, 1), path_);
  const AttributeId attribute(
      check(H5Acreate2(id(), name.c_str(), stored, space.get(), H5P_DEFAULT, H5P_DEFAULT), operation, path_));
  check(H5Awrite(attribute.get(), memory, values.data()), operation, path_);
}

void File::write_attribute(const std::string& name, std::span<const double> values) {
  write_numbers(name, values, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE);
}

void File::write_attribute(const std::string& name, std::span<const std::int64_t> values) {
  write_numbers(name, values, H5T_STD_I64LE, H5T_NATIVE_INT64);
}

bool File::has_attribute(const std::string& name) const {
  return check(H5Aexists(id(), name.c_str()), "look for " + attribute_label(name), path_) > 0;
}

AttributeId File::open_attribute(const std::string& name) const {
  if (!has_attribute(name))
    throw Error(ExitCode::io, fmt::format("{}: expected attribute '{}', which the file does not have", path_, name));
  return AttributeId(check(H5Aopen(id(), name.c_str(), H5P_DEFAULT), "open " + attribute_label(name), path_));
}

std::string File::read_text(const std::string& name) const {
  const std::string operation = "read " + attribute_label(name);
  const AttributeId attribute = open_attribute(name);
  const Type stored(check(H5Aget_type(attribute.get()), operation, path_));
  if (H5Tget_class(stored.get()) != H5T_STRING || H5Tis_variable_str(stored.get()) != 0)
    throw Error(ExitCode::io, fmt::format("{}: expected attribute '{}' to be a text of fixed length", path_, name));
  std::string text(H5Tget_size(stored.get()), '\0');
  check(H5Aread(attribute.get(), stored.get(), text.data()), operation, path_);
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

template <class Number>
std::vector<Number> File::read_numbers(const std::string& name, std::size_t count, hid_t memory) const {
  const std::string operation = "read " + attribute_label(name);
  const AttributeId attribute = open_attribute(name);
  const Space space(check(H5Aget_space(attribute.get()), operation, path_));
  const hssize_t found = check(H5Sget_simple_extent_npoints(space.get()), operation, path_);
  if (static_cast<std::size_t>(found) != count)
    throw Error(ExitCode::io,
                fmt::format("{}: expected attribute '{}' to hold {} number(s), found {}", path_, name, count, found));
  std::vector<Number> values(count);
  check(H5Aread(attribute.get(), memory, values.data()), operation, path_);
  return values;
}

std::vector<double> File::read_reals(const std::string& name, std::size_t count) const {
  return read_numbers<double>(name, count, H5T_NATIVE_DOUBLE);
}

std::vector<std::int64_t> File::read_integers(const std::string& name, std::size_t count) const {
  return read_numbers<std::int64_t>(name, count, H5T_NATIVE_INT64);
}

DatasetId File::create_dataset(const std::string& name, std::span<const hsize_t> shape, int bytes) {
  const std::string operation = fmt::format("create dataset '{}' in", name);
  const Space space = simple_space(shape, path_);
  const PropertyList creation = property_list(H5P_DATASET_CREATE, path_);
  check(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), operation, path_);
  // Every value is written by its owner: no filling, no time stamps, and addresses that do not depend on the order of
  // later writes.
  check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), operation, path_);
  check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), operation, path_);
  check(H5Pset_obj_track_times(creation.get(), false), operation, path_);
  return DatasetId(
      check(H5Dcreate2(id(), name.c_str(), file_type(bytes), space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
            operation, path_));
}

bool File::has_dataset(const std::string& name) const {
  return check(H5Lexists(id(), name.c_str(), H5P_DEFAULT), fmt::format("look for dataset '{}' of", name), path_) > 0;
}

DatasetId File::open_dataset(const std::string& name) const {
  if (!has_dataset(name))
    throw Error(ExitCode::io, fmt::format("{}: expected dataset '{}', which the file does not have", path_, name));
  return DatasetId(check(H5Dopen2(id(), name.c_str(), H5P_DEFAULT), fmt::format("open dataset '{}' of", name), path_));
}

void read_box(const File& file, const DatasetId& dataset, const Box& box, std::span<double> values) {
  const Transfer transfer = plan_transfer(file, dataset, box);
  check(H5Dread(dataset.get(), native_double(), transfer.memory_space.get(), transfer.file_space.get(),
                transfer.properties.get(), values.data()),
        fmt::format("read dataset '{}' of", dataset_name(dataset)), file.path());
}

std::string dataset_name(const DatasetId& dataset) {
  std::array<char, 64> name{};
  if (H5Iget_name(dataset.get(), name.data(), name.size()) <= 0) return "?";
  return name[0] == '/' ? name.data() + 1 : name.data();
}

std::vector<hsize_t> dataset_shape(const DatasetId& dataset) {
  const Space space(H5Dget_space(dataset.get()));
  std::vector<hsize_t> shape(static_cast<std::size_t>(std::max(0, H5Sget_simple_extent_ndims(space.get()))));
  if (!shape.empty()) H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr);
  return shape;
}

int dataset_float_bytes(const DatasetId& dataset) {
  const Type type(H5Dget_type(dataset.get()));
  return H5Tget_class(type.get()) == H5T_FLOAT ? static_cast<int>(H5Tget_size(type.get())) : 0;
}

std::int64_t dataset_offset(const DatasetId& dataset, const std::string& path) {
  const haddr_t offset = H5Dget_offset(dataset.get());
  if (offset == HADDR_UNDEF) fail(fmt::format("find dataset '{}' in", dataset_name(dataset)), path);
  return static_cast<std::int64_t>(offset);
}

}  // namespace mhd::hdf5
