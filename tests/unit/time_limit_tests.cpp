// The time limit of a run, with synthetic times; and files that take as long to write as a test wants.

#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "app/outputs.hpp"
#include "app/requests.hpp"
#include "app/run_options.hpp"
#include "app/write_times.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"
#include "tests/unit/temporary_files.hpp"

using namespace mhd;

namespace {

std::mutex files;
std::condition_variable changed;
bool held = false;

/// While it lives, no file becomes durable: as on a file system that does not answer.
class HeldFiles {
 public:
  HeldFiles() { set(true); }
  ~HeldFiles() { set(false); }
  HeldFiles(const HeldFiles&) = delete;
  HeldFiles& operator=(const HeldFiles&) = delete;

 private:
  static void set(bool value) {
    const std::lock_guard lock(files);
    held = value;
    changed.notify_all();
  }
};

/// A solver that lends copies of its fields, as one on a device does.
class LendingSolver : public Solver {
 public:
  explicit LendingSolver(const Config& config)
      : cells_(config.grid.cells), values_(static_cast<std::size_t>(cells_.product())) {}
  void set_field(int, std::span<const double>) override {}
  FieldView field(int) override { return {values_.data(), cells_, cells_.x, std::ptrdiff_t{cells_.x} * cells_.y}; }
  std::vector<FieldView> capture(std::span<const int> slots) override {
    return std::vector<FieldView>(slots.size(), field(0));
  }
  void step(double) override {}
  double courant_rate() override { return 1; }
  void start_diagnostics() override {}
  DiagnosticSums finish_diagnostics() override { return DiagnosticSums(FieldSet{}); }
  bool finite() override { return true; }
  int steps_ahead() const override { return 1; }
  StepTiming timing(int) const override { return {}; }

 private:
  Int3 cells_;
  std::vector<double> values_;
};

Config small_run(const std::string& directory) {
  Config config;
  config.grid.cells = {8, 8, 8};
  config.output.directory = directory;
  return config;
}

/// Whether a run of 1000 s that started so long ago stops before its second step, and why.
std::pair<bool, std::string> stops(double seconds_ago, const WriteReserve& writes) {
  RunOptions options;
  options.time_limit_seconds = 1000;
  options.started -=
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds_ago));
  Requests requests(Comm(), options, "", "");
  CHECK_FALSE(requests.ask(0, 0, writes).stop);  // never before the first step
  const bool stop = requests.ask(1, 0, writes).stop;
  return {stop, requests.reason()};
}

}  // namespace

// In place of the C library's, for this program.
extern "C" int fsync(int descriptor) {
  {
    std::unique_lock lock(files);
    changed.wait(lock, [] { return !held; });
  }
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

TEST_CASE("a time limit is hours, minutes and seconds, perhaps with days") {
  CHECK(duration_seconds("00:00:07") == 7);
  CHECK(duration_seconds("1:30:05") == 5405);
  CHECK(duration_seconds("100:00:00") == 360000);
  CHECK(duration_seconds("2-12:00:00") == 216000);
  for (const char* text : {"", "7", "1:30", "1:60:00", "1:00:60", "-1:00:00", "1:00:00 ", "a:00:00", "1:2:3", "inf"})
    CHECK_FALSE(duration_seconds(text));
}

TEST_CASE("a run stops when its slowest step and all that it has to write fill its time") {
  CHECK_FALSE(limit_reached(100, 50, 10, {20, 0, 0}));
  CHECK_FALSE(limit_reached(100, 59.9, 10, {20, 0, 0}));
  CHECK(limit_reached(100, 60, 10, {20, 0, 0}));
  CHECK(limit_reached(100, 200, 0, {}));
  CHECK(limit_reached(100, 0, 0, {70, 0, 0}));
  CHECK_FALSE(limit_reached(100, 50, 10, {20, 4, 5}));
  CHECK(limit_reached(100, 50, 10, {20, 4, 6}));
  CHECK(limit_reached(100, 50, 10, {20, 10, 0}));
}

TEST_CASE("a file in writing still takes what the slowest took, a late one half of what it has taken") {
  CHECK(remaining_seconds(12, 0) == 12);
  CHECK(remaining_seconds(12, 6) == 6);
  CHECK(remaining_seconds(12, 8) == 4);
  CHECK(remaining_seconds(12, 12) == 6);
  CHECK(remaining_seconds(12, 40) == 20);
}

TEST_CASE("the slowest file counts, before the first one an estimate from its size") {
  WriteTimes times(1'000'000'000);
  CHECK(times.slowest() == 3);
  times.add(0.5);
  CHECK(times.slowest() == 0.5);
  times.add(7);
  times.add(2);
  CHECK(times.slowest() == 7);
}

TEST_CASE("a snapshot that is still being written counts towards the time limit") {
  // A quarter of an hour in all is far more than this test takes.
  CHECK_FALSE(stops(100, {60, 60, 60}).first);
  CHECK_FALSE(stops(100, {60, 60, 0}).first);
  CHECK(stops(100, {600, 0, 0}).first);
  CHECK(stops(100, {60, 60, 800}).first);
  CHECK(stops(100, {60, 900, 0}).first);
  const auto [stop, reason] = stops(400, {60, 70, 500});
  CHECK(stop);
  for (const char* text : {"time limit 16:40 (after 4", "a checkpoint up to 60 s, of which 1.5 times is kept",
                           "a snapshot up to 70 s", "a file in writing up to 500 s more"}) {
    INFO(reason);
    CHECK(contains(reason, text));
  }
}

TEST_CASE("outputs reserve the time of the file that is in writing, of a snapshot and of a checkpoint") {
  const TemporaryDirectory directory;
  Config config = small_run(directory.file("run"));
  LendingSolver solver(config);
  const Comm comm;
  const Decomposition decomposition(Grid(config.grid), 1);
  {
    Outputs outputs(config, decomposition, comm, EarlierRun::keep);
    outputs.begin({});
    CHECK(outputs.reserve().pending == 0);
    const double estimate = outputs.reserve().snapshot;
    CHECK(estimate > 1);
    CHECK(outputs.reserve().checkpoint > 1);
    {
      const HeldFiles held_files;
      outputs.write_snapshot_of(solver, {1, 0.1, 0.1, {}});
      CHECK(outputs.reserve().pending > 0);
      CHECK_FALSE(std::filesystem::exists(directory.file("run/snapshot_00000001.h5")));
    }
    outputs.wait();
    CHECK(std::filesystem::exists(directory.file("run/snapshot_00000001.h5")));
    CHECK(outputs.reserve().pending == 0);
    CHECK(outputs.reserve().snapshot != estimate);

    config.output.snapshot_at_end = false;  // no snapshots at all
    outputs.reconfigure();
    CHECK(outputs.reserve().snapshot == 0);
    config.output.snapshot_every_steps = 7;
    outputs.reconfigure();
    CHECK(outputs.reserve().snapshot > 0);
    outputs.write_checkpoint_of(solver, {2, 0.2, 0.1, {}});
  }
  // Outputs that end with a file in writing wait for it.
  CHECK(std::filesystem::exists(directory.file("run/checkpoint_00000002.h5")));
}
