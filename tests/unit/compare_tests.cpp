// Differences between snapshots, what `info` says, and which files are refused.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/compare.hpp"
#include "io/hdf5.hpp"
#include "io/info.hpp"
#include "io/snapshot.hpp"
#include "tests/catch.hpp"
#include "tests/unit/temporary_files.hpp"

using namespace mhd;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A snapshot of lnrho and ux whose cell i (x fastest) holds `values[i]`, the same in both.
void write_values(const std::string& path, std::vector<double> values, double time = 1,
                  Precision precision = Precision::float64, std::vector<Field> fields = {Field::lnrho, Field::ux}) {
  SnapshotHeader header;
  header.grid.cells = {static_cast<int>(values.size()) / 2, 1, 2};
  header.grid.size = {1, 1, 1};
  header.time = time;
  header.precision = precision;
  header.config = "[run]\nkey = 1\n";
  header.build.version = "9.8.7";
  const FieldView view{values.data(), header.grid.cells, header.grid.cells.x, header.grid.cells.x};
  write_snapshot(
      path, header, fields, [&](Field) { return view; }, header.grid.box(), Comm());
}

}  // namespace

TEST_CASE("ulps count representable numbers, both zeros included") {
  CHECK(ulps_between(1.0, 1.0) == 0);
  CHECK(ulps_between(1.0, std::nextafter(1.0, 2.0)) == 1);
  CHECK(ulps_between(1.0, 2.0) == std::uint64_t{1} << 52);
  CHECK(ulps_between(-1.0, std::nextafter(-1.0, -2.0)) == 1);
  CHECK(ulps_between(-0.0, 0.0) == 1);
  CHECK(ulps_between(-4.9406564584124654e-324, 4.9406564584124654e-324) == 3);
  CHECK(ulps_between(not_a_number, 1.0) == infinite_ulps);
  CHECK(ulps_between(not_a_number, not_a_number) == 0);
  CHECK(ulps_between(1.0f, std::nextafter(1.0f, 2.0f)) == 1);
}

TEST_CASE("a comparison finds where two snapshots differ and by how much") {
  const TemporaryDirectory directory;
  const std::string a = directory.file("a.h5"), b = directory.file("b.h5");
  write_values(a, {1, 2, 3, 4, 5, 6});
  write_values(b, {1, std::nextafter(2.0, 3.0), 3, 4, 5.5, 6});
  CHECK_FALSE(exceeds(compare_snapshots(a, a), {}));

  const Comparison comparison = compare_snapshots(a, b);
  REQUIRE(comparison.fields.size() == 2);
  const FieldDifference& f = comparison.fields[0];
  CHECK(f.max_absolute == 0.5);
  CHECK(f.max_relative == 0.5 / 5.5);
  CHECK(f.max_ulps == ulps_between(5.0, 5.5));
  CHECK(f.where_absolute == Int3{1, 0, 1});
  CHECK(f.where_ulps == Int3{1, 0, 1});
  CHECK(f.differing == 2);
  CHECK(exceeds(comparison, {}));
  CHECK(exceeds(comparison, {.ulps = f.max_ulps - 1, .relative = {}}));
  CHECK_FALSE(exceeds(comparison, {.ulps = f.max_ulps, .relative = {}}));
  CHECK(exceeds(comparison, {.ulps = {}, .relative = 0.09}));
  CHECK_FALSE(exceeds(comparison, {.ulps = {}, .relative = 0.1}));
  CHECK(exceeds(comparison, {.ulps = 1, .relative = 0.1}));
  CHECK(contains(comparison_text(comparison, {}), "(1, 0, 1)"));
}

TEST_CASE("NaN and infinity on one side exceed every bound") {
  const TemporaryDirectory directory;
  const std::string a = directory.file("a.h5"), b = directory.file("b.h5");
  write_values(a, {1, 2, infinity, not_a_number});
  CHECK_FALSE(exceeds(compare_snapshots(a, a), {}));
  for (const double value : {not_a_number, infinity}) {
    write_values(b, {1, value, infinity, not_a_number});
    const Comparison comparison = compare_snapshots(a, b);
    CHECK(comparison.fields[0].max_absolute == infinity);
    CHECK(comparison.fields[0].differing == 1);
    CHECK(exceeds(comparison, {.ulps = {}, .relative = 1e300}));
  }
}

TEST_CASE("missing fields, other cells and other times are mismatches") {
  const TemporaryDirectory directory;
  const std::string a = directory.file("a.h5"), b = directory.file("b.h5");
  const Tolerance generous{.ulps = {}, .relative = 1e-3};
  write_values(a, {1, 2, 3, 4});
  const auto mismatch = [&] {
    const Comparison comparison = compare_snapshots(a, b, generous);
    CHECK(exceeds(comparison, generous));
    REQUIRE(comparison.mismatches.size() == 1);
    return comparison.mismatches[0];
  };
  write_values(b, {1, 2, 3, 4}, 1, Precision::float64, {Field::lnrho});
  CHECK(contains(mismatch(), "field ux is in " + a));
  write_values(b, {1, 2, 3, 4, 5, 6});
  CHECK(contains(mismatch(), "cells: 2 x 1 x 2 against 3 x 1 x 2"));
  write_values(b, {1, 2, 3, 4}, 1.01);
  CHECK(contains(mismatch(), "time: 1 against 1.01"));
  write_values(b, {1, 2, 3, 4}, 1.0001);
  CHECK_FALSE(exceeds(compare_snapshots(a, b, generous), generous));
}

TEST_CASE("a float32 copy agrees with its float64 original in float32 ulps") {
  const TemporaryDirectory directory;
  const std::string a = directory.file("a.h5"), b = directory.file("b.h5");
  write_values(a, {0.1, 0.2, 0.3, 0.7});
  write_values(b, {0.1, 0.2, 0.3, 0.7}, 1, Precision::float32);
  const Comparison comparison = compare_snapshots(a, b);
  CHECK(comparison.float32);
  CHECK(comparison.fields[0].max_ulps == 0);
  CHECK(comparison.fields[0].max_absolute > 0);
}

TEST_CASE("info shows grid, ranges, non-finite cells, configuration and build") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.h5");
  write_values(path, {-1.5, 2, not_a_number, 0.25}, 0.125);
  const std::string text = info_text(path);
  for (const char* part : {"2 x 1 x 2 cells", "0.125", "lnrho", "-1.5", "1 non-finite", "float64", "key = 1", "9.8.7"})
    CHECK(contains(text, part));
}

TEST_CASE("files that are not snapshots are refused by name") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("series.csv");
  put(path, "it,t,dt\n");
  CHECK(message_of([&] { info_text(path); }) == path + " is not an HDF5 file");
  CHECK(contains(message_of([&] { info_text(directory.file("none.h5")); }), "none.h5: No such file"));
  CHECK(contains(message_of([&] { info_text(directory.path()); }), "directory"));
}

TEST_CASE("a dataset of another shape is refused with both shapes") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.h5");
  write_values(path, {1, 2, 3, 4}, 1, Precision::float64, {Field::lnrho});
  {
    const hdf5::Id<H5Fclose> file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
    const hsize_t shape[] = {3, 1, 2};
    const hdf5::Space space(H5Screate_simple(3, shape, nullptr));
    const hdf5::DatasetId ux(
        H5Dcreate2(file.get(), "ux", H5T_IEEE_F64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    REQUIRE(ux.get() >= 0);
  }
  const std::string message = message_of([&] { read_snapshot_info(path); });
  for (const char* part : {"a.h5", "'ux'", "[2, 1, 2]", "[3, 1, 2]"}) CHECK(contains(message, part));
}

TEST_CASE("a file that another program holds is an error that names HDF5_USE_FILE_LOCKING") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.h5");
  write_values(path, {1, 2, 3, 4});
  if (std::getenv("HDF5_USE_FILE_LOCKING")) return;  // the user has decided, and HDF5 asks the variable first
  const int other = ::open(path.c_str(), O_RDONLY);
  REQUIRE(::flock(other, LOCK_EX | LOCK_NB) == 0);
  const std::string message = message_of([&] { read_snapshot_info(path); });
  ::close(other);
  CHECK(contains(message, path));
  CHECK(contains(message, "HDF5_USE_FILE_LOCKING"));
  CHECK_NOTHROW(read_snapshot_info(path));
}
