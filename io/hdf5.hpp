#pragma once
// HDF5's C interface behind move-only owners. A failing call is thrown as Error(io) with the path, what was attempted
// and HDF5's innermost cause; HDF5's own printing is off. Without a parallel communicator nothing here needs MPI_Init.

#include <hdf5.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/box.hpp"
#include "core/comm.hpp"

#ifndef H5_HAVE_PARALLEL
#error "mhdsim needs a parallel HDF5 (built with MPI)"
#endif

namespace mhd::hdf5 {

/// Owner of one HDF5 identifier.
template <herr_t (*Close)(hid_t)>
class Id {
 public:
  Id() = default;
  explicit Id(hid_t id) : id_(id) {}
  Id(Id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Id& operator=(Id&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
    }
    return *this;
  }
  ~Id() { reset(); }

  hid_t get() const { return id_; }
  hid_t release() { return std::exchange(id_, H5I_INVALID_HID); }

 private:
  void reset() {
    if (id_ >= 0) Close(release());
  }
  hid_t id_ = H5I_INVALID_HID;
};

using DatasetId = Id<H5Dclose>;
using Space = Id<H5Sclose>;
using Type = Id<H5Tclose>;
using PropertyList = Id<H5Pclose>;
using AttributeId = Id<H5Aclose>;

/// Throws what HDF5 last reported: "cannot <operation> <path>: <cause>".
[[noreturn]] void fail(const std::string& operation, const std::string& path);

/// Returns a non-negative result, throws otherwise.
template <class Result>
Result check(Result result, const std::string& operation, const std::string& path) {
  if (result < 0) fail(operation, path);
  return result;
}

/// False for a file that exists and is not HDF5; true also where that cannot be told.
bool looks_like_hdf5(const std::string& path);

/// Floating-point type of a dataset or of values in memory.
hid_t native_double();
hid_t file_type(int bytes);  ///< little-endian IEEE, 4 or 8 bytes

/// An open file and its root attributes and datasets.
class File {
 public:
  File() = default;
  /// Creates or truncates, by this process alone. The bytes of the file depend on what is written only. HDF5 crashes at
  /// the end of a process that could not close a file, so `place` should be one where nothing fails
  /// (io/file_image.hpp); `path` is for messages.
  static File create(const std::string& place, const std::string& path);
  /// Opens an existing file for reading; with more than one rank collectively, through MPI-IO.
  static File open(const std::string& path, const Comm& comm);

  hid_t id() const { return id_.get(); }
  const std::string& path() const { return path_; }
  /// True where transfers are collective over the ranks of `open`.
  bool parallel() const { return parallel_; }
  /// Closes; errors are thrown.
  void close();

  void write_attribute(const std::string& name, const std::string& text);
  void write_attribute(const std::string& name, std::span<const double> values);
  void write_attribute(const std::string& name, std::span<const std::int64_t> values);
  void write_attribute(const std::string& name, double value) { write_attribute(name, std::span(&value, 1)); }
  void write_attribute(const std::string& name, std::int64_t value) { write_attribute(name, std::span(&value, 1)); }
  bool has_attribute(const std::string& name) const;
  std::string read_text(const std::string& name) const;
  /// Attributes of exactly `count` numbers.
  std::vector<double> read_reals(const std::string& name, std::size_t count) const;
  std::vector<std::int64_t> read_integers(const std::string& name, std::size_t count) const;

  /// Contiguous dataset of little-endian floats of 4 or 8 bytes, its space in the file assigned at once.
  DatasetId create_dataset(const std::string& name, std::span<const hsize_t> shape, int bytes);
  bool has_dataset(const std::string& name) const;
  DatasetId open_dataset(const std::string& name) const;

 private:
  File(Id<H5Fclose> id, std::string path, bool parallel)
      : id_(std::move(id)), path_(std::move(path)), parallel_(parallel) {}
  template <class Number>
  void write_numbers(const std::string& name, std::span<const Number> values, hid_t stored, hid_t memory);
  template <class Number>
  std::vector<Number> read_numbers(const std::string& name, std::size_t count, hid_t memory) const;
  AttributeId open_attribute(const std::string& name) const;
  std::string attribute_label(const std::string& name) const;

  Id<H5Fclose> id_;
  std::string path_;
  bool parallel_ = false;
};

/// One transfer between contiguous memory and a box of a dataset [z][y][x]. In a parallel file every rank must call,
/// those without cells with an empty box.
void read_box(const File& file, const DatasetId& dataset, const Box& box, std::span<double> values);

/// Name for messages: the dataset's own path in the file.
std::string dataset_name(const DatasetId& dataset);
std::vector<hsize_t> dataset_shape(const DatasetId& dataset);
/// Bytes per value of a floating-point dataset; 0 for any other type.
int dataset_float_bytes(const DatasetId& dataset);
/// Where in the file the values of a contiguous dataset begin.
std::int64_t dataset_offset(const DatasetId& dataset, const std::string& path);

}  // namespace mhd::hdf5
