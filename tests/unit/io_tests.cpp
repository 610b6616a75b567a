// Output files of one process: series, timing, summary, XDMF, run directory.

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "io/file.hpp"
#include "io/run_directory.hpp"
#include "io/series.hpp"
#include "io/slabs.hpp"
#include "io/timing_log.hpp"
#include "io/xdmf.hpp"
#include "tests/catch.hpp"
#include "tests/unit/temporary_files.hpp"

using namespace mhd;
namespace fs = std::filesystem;

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
    TimingLog log(path, {}, 1e9);
    log.append(row);
    CHECK(text_of(path) == header);
    log.flush();
    CHECK(text_of(path) == header + line);
    log.append(row);
  }
  CHECK(text_of(path) == header + line + line);
  TimingLog log(path, {}, 0);
  log.append(row);
  CHECK(text_of(path) == header + line);
  log.close();
}

TEST_CASE("the summary is TOML with floats as floats and texts escaped") {
  RunSummary summary;
  summary.status = "a \"b\"\n";
  summary.t = 2;
  summary.dt = 1e-7;
  summary.seconds_total = std::numeric_limits<double>::quiet_NaN();
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
  const std::vector<XdmfSnapshot> snapshots = {{directory.file("s_0.h5"), 0, Precision::float32, fields},
                                               {directory.file("s&1.h5"), 0.25, Precision::float32, fields}};
  const std::string path = directory.file("snapshots.xdmf");
  write_xdmf(path, grid, snapshots);
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
    const RunDirectory first(path, EarlierRun::refuse);
    CHECK(first.lock_warning().empty());
    const std::string message = message_of([&] { RunDirectory(path, EarlierRun::replace); });
    CHECK(contains(message, path));
    CHECK(contains(message, "process " + std::to_string(::getpid())));
  }
  CHECK_NOTHROW(RunDirectory(path, EarlierRun::refuse));
}

TEST_CASE("outputs of an earlier run are refused, or removed alone where overwriting is allowed") {
  const TemporaryDirectory parent;
  const std::string path = parent.path();
  std::vector<std::string> outputs;
  {
    const RunDirectory run(path, EarlierRun::refuse);
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

  CHECK(contains(message_of([&] { RunDirectory(path, EarlierRun::refuse); }), "earlier run"));
  for (const std::string& file : outputs) CHECK(fs::exists(file));
  const RunDirectory run(path, EarlierRun::replace);
  for (const std::string& file : outputs) CHECK_FALSE(fs::exists(file));
  for (const std::string& file : foreign) CHECK(text_of(file) == "mine");
}

TEST_CASE("each kind of output alone is refused") {
  for (const char* name : {"series.csv", "timing.csv", "summary.toml", "snapshots.xdmf", "snapshot_00000000.h5"}) {
    const TemporaryDirectory directory;
    put(directory.file(name), "old");
    CHECK(contains(message_of([&] { RunDirectory(directory.path(), EarlierRun::refuse); }), name));
  }
}

TEST_CASE("a configuration that mhdsim did not write is never replaced") {
  const TemporaryDirectory directory;
  put(directory.file("config.toml"), "[grid]\n");
  put(directory.file("series.csv"), "old");
  CHECK(contains(message_of([&] { RunDirectory(directory.path(), EarlierRun::replace); }), "config.toml"));
  CHECK(text_of(directory.file("config.toml")) == "[grid]\n");
  CHECK(fs::exists(directory.file("series.csv")));
}

TEST_CASE("a run directory that cannot be made is an error with the reason") {
  const TemporaryDirectory directory;
  put(directory.file("plain"), "");
  CHECK(contains(message_of([&] { RunDirectory(directory.file("plain"), EarlierRun::refuse); }), "Not a directory"));
  CHECK(
      contains(message_of([&] { RunDirectory(directory.file("plain/run"), EarlierRun::refuse); }), "Not a directory"));
}
