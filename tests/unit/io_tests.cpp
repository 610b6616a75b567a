// Output files of one process: series, timing, summary, XDMF, run directory, differences, info.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "io/compare.hpp"
#include "io/file.hpp"
#include "io/info.hpp"
#include "io/run_directory.hpp"
#include "io/series.hpp"
#include "io/slabs.hpp"
#include "io/snapshot.hpp"
#include "io/timing_log.hpp"
#include "io/xdmf.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

namespace fs = std::filesystem;

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_((fs::temp_directory_path() / "mhdsim-io-XXXXXX").string()) {
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + '/' + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::io);
    return error.what();
  }
  return "nothing was thrown";
}

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

TEST_CASE("a percentile interpolates between order statistics") {
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({4, 1, 2, 3}) == 2.5);
  CHECK(percentile({10, 0, 20, 30, 40}, 0.9) == 36);
  CHECK(percentile({5}, 0.9) == 5);
  CHECK(percentile({2, 1}, 0) == 1);
  CHECK(percentile({2, 1}, 1) == 2);
  CHECK(std::isnan(median({})));
}

TEST_CASE("slabs cover a box once, within the limit, in the order of the file") {
  const Box box{{2, 3, 4}, {9, 8, 10}};
  for (const std::int64_t limit : {1, 3, 7, 8, 34, 35, 36, 100, 1000}) {
    std::vector<int> seen(static_cast<std::size_t>(box.volume()));
    std::size_t previous_last = 0;
    for (const Box& slab : slabs(box, limit)) {
      CHECK(slab.volume() <= limit);
      std::size_t last = 0;
      for (int z = slab.lower.z; z < slab.upper.z; ++z)
        for (int y = slab.lower.y; y < slab.upper.y; ++y)
          for (int x = slab.lower.x; x < slab.upper.x; ++x) {
            last = static_cast<std::size_t>((x - 2) + 7 * ((y - 3) + 5 * (z - 4)));
            ++seen[last];
          }
      CHECK(last + 1 == previous_last + static_cast<std::size_t>(slab.volume()));  // no cell of a later slab before it
      previous_last = last + 1;
    }
    CHECK(seen == std::vector<int>(seen.size(), 1));
  }
  CHECK(slabs(Box{}, 10).empty());
}

TEST_CASE("a series line reads back to the same bits") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("series.csv");
  const std::vector<std::string> columns = {"urms", "rhomin", "ssm"};
  const std::vector<double> values = {0.1, 1.0 / 3.0, 4.9406564584124654e-324};
  Series series(path, columns);
  series.append(7, 2.0 / 3.0, 1e-7, values);
  const std::string text = text_of(path);  // on disk before close: a crash loses no line
  series.close();
  const std::string header = "it,t,dt,urms,rhomin,ssm\n";
  REQUIRE(text.substr(0, header.size()) == header);
  std::vector<double> read;
  const char* at = text.c_str() + header.size();
  for (char* end = nullptr; *at != '\0' && *at != '\n'; at = *end == ',' ? end + 1 : end)
    read.push_back(std::strtod(at, &end));
  CHECK(read == std::vector<double>{7, 2.0 / 3.0, 1e-7, values[0], values[1], values[2]});
  const std::vector<double> short_line(2);
  CHECK_THROWS_AS(Series(path, columns).append(1, 0, 0, short_line), Error);
}

TEST_CASE("a full disk is an error that names the file") {
  if (!fs::exists("/dev/full")) return;
  const std::vector<std::string> columns;
  const std::string message = message_of([&] { Series("/dev/full", columns); });
  CHECK(contains(message, "/dev/full"));
  CHECK(contains(message, "No space left on device"));
}

TEST_CASE("timing lines are complete after flush, close and an early end") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("timing.csv");
  const std::string header = "step,seconds,compute,exchange,wait,output\n";
  const std::string line = "1,0.500000000,0.300000000,0.100000000,0.050000000,0.025000000\n";
  const TimingRow row{1, 0.5, 0.3, 0.1, 0.05, 0.025};
  {
    TimingLog log(path, 1e9);
    log.append(row);
    CHECK(text_of(path) == header);
    log.flush();
    CHECK(text_of(path) == header + line);
    log.append(row);
  }
  CHECK(text_of(path) == header + line + line);
  TimingLog log(path, 0);
  log.append(row);
  CHECK(text_of(path) == header + line);
  log.close();
}

TEST_CASE("the summary is TOML with floats as floats and texts escaped") {
  RunSummary summary;
  summary.status = "a \"b\"\n";
  summary.t = 2;
  summary.dt = 1e-7;
  summary.seconds_total = not_a_number;
  summary.cells = {4, 5, 6};
  const std::string text = summary_text(summary);
  CHECK(contains(text, "status = \"a \\\"b\\\"\\u000A\"\n"));
  CHECK(contains(text, "\nt = 2.0\n"));
  CHECK(contains(text, "\ndt = 1e-07\n"));
  CHECK(contains(text, "\nseconds_total = nan\n"));
  CHECK(contains(text, "\ncells = [4, 5, 6]\n"));
  CHECK(contains(text, "\nsteps = 0\n"));
}

TEST_CASE("a file is replaced as a whole or not at all") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.txt");
  write_file_atomically(path, "one");
  write_file_atomically(path, "two");
  CHECK(text_of(path) == "two");
  CHECK_FALSE(fs::exists(partial_name(path)));
  const std::string message = message_of([&] { write_file_atomically(directory.file("none/a.txt"), "x"); });
  CHECK(contains(message, "none/a.txt"));
  CHECK(contains(message, "No such file or directory"));
}

TEST_CASE("XDMF describes cells of the box, relative paths and times in order") {
  const TemporaryDirectory directory;
  Grid grid;
  grid.cells = {8, 4, 1};
  grid.origin = {-1, 0, 2};
  grid.size = {2, 1, 3};
  const std::vector<Field> fields = {Field::lnrho, Field::ux, Field::uy, Field::uz};
  const std::vector<XdmfSnapshot> snapshots = {{directory.file("s_0.h5"), 0}, {directory.file("s&1.h5"), 0.25}};
  const std::string path = directory.file("snapshots.xdmf");
  write_xdmf(path, grid, Precision::float32, fields, snapshots);
  const std::string text = text_of(path);
  CHECK(contains(text, "TopologyType=\"3DCORECTMesh\" Dimensions=\"2 5 9\""));
  CHECK(contains(text, ">2 0 -1</DataItem>"));
  CHECK(contains(text, ">3 0.25 0.25</DataItem>"));
  CHECK(contains(text, "Dimensions=\"1 4 8\" NumberType=\"Float\" Precision=\"4\">s_0.h5:/lnrho</DataItem>"));
  CHECK(contains(text, ">s&amp;1.h5:/uz</DataItem>"));
  CHECK(contains(text, "Name=\"u\" AttributeType=\"Vector\" Center=\"Cell\""));
  CHECK_FALSE(contains(text, "Name=\"a\""));
  CHECK_FALSE(contains(text, directory.path()));
  CHECK(text.find("Time Value=\"0\"") < text.find("Time Value=\"0.25\""));
}

TEST_CASE("a run directory belongs to one run at a time") {
  const TemporaryDirectory parent;
  const std::string path = parent.file("deep/run");
  {
    const RunDirectory first(path, false);
    CHECK(first.lock_warning().empty());
    const std::string message = message_of([&] { RunDirectory(path, true); });
    CHECK(contains(message, path));
    CHECK(contains(message, "process " + std::to_string(::getpid())));
  }
  CHECK_NOTHROW(RunDirectory(path, false));
}

TEST_CASE("outputs of an earlier run are refused, or removed alone where overwriting is allowed") {
  const TemporaryDirectory parent;
  const std::string path = parent.path();
  std::vector<std::string> outputs;
  {
    const RunDirectory run(path, false);
    run.write_config("[grid]\n");
    outputs = {run.config(),
               run.series(),
               run.timing(),
               run.summary(),
               run.xdmf(),
               run.snapshot(120),
               partial_name(run.snapshot(130))};
    for (std::size_t i = 1; i < outputs.size(); ++i) put(outputs[i], "old");
    CHECK(run.snapshot(120) == path + "/snapshot_00000120.h5");
  }
  const std::vector<std::string> foreign = {path + "/notes.txt", path + "/snapshot_best.h5",
                                            path + "/snapshot_1.h5.bak"};
  for (const std::string& file : foreign) put(file, "mine");

  CHECK(contains(message_of([&] { RunDirectory(path, false); }), "earlier run"));
  for (const std::string& file : outputs) CHECK(fs::exists(file));
  const RunDirectory run(path, true);
  for (const std::string& file : outputs) CHECK_FALSE(fs::exists(file));
  for (const std::string& file : foreign) CHECK(text_of(file) == "mine");
}

TEST_CASE("each kind of output alone is refused") {
  for (const char* name : {"series.csv", "timing.csv", "summary.toml", "snapshots.xdmf", "snapshot_00000000.h5"}) {
    const TemporaryDirectory directory;
    put(directory.file(name), "old");
    CHECK(contains(message_of([&] { RunDirectory(directory.path(), false); }), name));
  }
}

TEST_CASE("a configuration that mhdsim did not write is never replaced") {
  const TemporaryDirectory directory;
  put(directory.file("config.toml"), "[grid]\n");
  put(directory.file("series.csv"), "old");
  CHECK(contains(message_of([&] { RunDirectory(directory.path(), true); }), "config.toml"));
  CHECK(text_of(directory.file("config.toml")) == "[grid]\n");
  CHECK(fs::exists(directory.file("series.csv")));
}

TEST_CASE("a run directory that cannot be made is an error with the reason") {
  const TemporaryDirectory directory;
  put(directory.file("plain"), "");
  CHECK(contains(message_of([&] { RunDirectory(directory.file("plain"), false); }), "Not a directory"));
  CHECK(contains(message_of([&] { RunDirectory(directory.file("plain/run"), false); }), "Not a directory"));
}

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
    hdf5::File file = hdf5::File::open(path, true, Comm());
    const hsize_t shape[] = {3, 1, 2};
    file.create_dataset("ux", shape, 8);
    file.close();
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
