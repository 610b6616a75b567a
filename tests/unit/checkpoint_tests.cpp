// Checkpoints of one process: checksums, seals, what a run directory keeps when a run goes back, which keys may change.

#include <bit>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/checkpoint.hpp"
#include "io/checksum.hpp"
#include "io/config_changes.hpp"
#include "io/config_file.hpp"
#include "io/file.hpp"
#include "io/run_directory.hpp"
#include "io/seal.hpp"
#include "tests/catch.hpp"
#include "tests/unit/temporary_files.hpp"

using namespace mhd;
namespace fs = std::filesystem;

namespace {

FieldView view_of(const std::vector<double>& values, Int3 cells, const Box& box) {
  const std::ptrdiff_t y = cells.x, z = y * cells.y;
  return {values.data() + box.lower.x + box.lower.y * y + box.lower.z * z, box.size(), y, z};
}

std::vector<double> pattern(Int3 cells) {
  std::vector<double> values(static_cast<std::size_t>(cells.product()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 5) / 3.0;
  return values;
}

}  // namespace

TEST_CASE("the checksum of a field does not depend on how it is divided") {
  const Int3 cells{7, 5, 6};
  const std::vector<double> values = pattern(cells);
  const Box all{{0, 0, 0}, cells};
  const std::uint64_t whole = field_checksum(view_of(values, cells, all), all, cells);
  for (int axis = 0; axis < 3; ++axis)
    for (int cut = 1; cut < cells[axis]; ++cut) {
      Box low = all, high = all;
      low.upper[axis] = high.lower[axis] = cut;
      CHECK(field_checksum(view_of(values, cells, low), low, cells) +
                field_checksum(view_of(values, cells, high), high, cells) ==
            whole);
    }
}

TEST_CASE("the checksum of a field sees each bit of each value, and where it is") {
  const Int3 cells{4, 3, 2};
  const Box all{{0, 0, 0}, cells};
  std::vector<double> values = pattern(cells);
  const auto sum = [&] { return field_checksum(view_of(values, cells, all), all, cells); };
  std::set<std::uint64_t> sums{sum()};
  for (double& value : values)
    for (int bit = 0; bit < 64; ++bit) {
      const double before = value;
      value = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << bit));
      CHECK(sums.insert(sum()).second);
      value = before;
    }
  std::swap(values[3], values[11]);
  CHECK(sums.insert(sum()).second);
  for (double& value : values) value = 0;
  CHECK(sums.insert(sum()).second);
  for (double& value : values) value = -0.0;
  CHECK(sums.insert(sum()).second);
}

TEST_CASE("the checksum of bytes goes on over blocks and sees order and length") {
  const std::string text = "The quick brown fox jumps over the lazy dog";
  CHECK(bytes_checksum(text) == bytes_checksum(std::string(text)));
  CHECK(bytes_checksum(text.substr(8), bytes_checksum(text.substr(0, 8))) !=
        bytes_checksum(text.substr(0, 8), bytes_checksum(text.substr(8))));
  CHECK(bytes_checksum(text + '\0') != bytes_checksum(text));
  CHECK(bytes_checksum(std::string(8, '\0')) != bytes_checksum(std::string(16, '\0')));
}

TEST_CASE("a seal sees every changed byte but those of the fields, and every other length") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("sealed");
  std::string content(3000, 'x');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7);
  put(path, content);
  const std::vector<FileRange> fields = {{500, 800}, {1300, 100}, {2000, 999}};
  seal_file(path, fields);
  CHECK_NOTHROW(require_seal(path));
  const std::string sealed = text_of(path);
  REQUIRE(sealed.size() == 3000 + static_cast<std::size_t>(seal_bytes));
  const auto accepted = [&](const std::string& bytes) {
    put(path, bytes);
    try {
      require_seal(path);
      return true;
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::io);
      CHECK(contains(error.what(), path));
      return false;
    }
  };
  int wrong = 0;
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    const bool field = (i >= 500 && i < 1400) || (i >= 2000 && i < 2999);
    std::string damaged = sealed;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    wrong += accepted(damaged) != field;
  }
  CHECK(wrong == 0);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{1023}, std::size_t{1024}, std::size_t{3000}, sealed.size() - 1})
    CHECK_FALSE(accepted(sealed.substr(0, length)));
  CHECK_FALSE(accepted(sealed + '\0'));
  CHECK_FALSE(accepted(sealed + sealed));
  CHECK(accepted(sealed));
}

TEST_CASE("a table goes on behind the row of a step, whatever a crash left after it") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.csv");
  const auto go_on = [&](const std::string& before, std::optional<std::int64_t> last) {
    put(path, before);
    TextWriter file = open_table(path, "it,a", last);
    file.write("9,new\n");
    file.close();
    return text_of(path);
  };
  CHECK(go_on("it,a\n1,x\n3,y\n7,z\n", 3) == "it,a\n1,x\n3,y\n9,new\n");
  CHECK(go_on("it,a\n1,x\n3,y\n7,z\n", 100) == "it,a\n1,x\n3,y\n7,z\n9,new\n");
  CHECK(go_on("it,a\n1,x\n3,y\n5,", 100) == "it,a\n1,x\n3,y\n9,new\n");
  CHECK(go_on("it,a\n1,x\n3", 100) == "it,a\n1,x\n9,new\n");
  CHECK(go_on("it,a\n1,x\n\n\n", 100) == "it,a\n1,x\n9,new\n");
  CHECK(go_on("it,a\n1,x\n", -1) == "it,a\n9,new\n");
  CHECK(go_on("it", 3) == "it,a\n9,new\n");
  CHECK(go_on("", 3) == "it,a\n9,new\n");
  CHECK(go_on("it,a\n1,x\n", {}) == "it,a\n9,new\n");
  fs::remove(path);
  CHECK_NOTHROW(open_table(path, "it,a", 3));
  CHECK(text_of(path) == "it,a\n");
  CHECK(contains(message_of([&] { open_table(path, "it,b", 3); }), "expected the columns it,b, found it,a"));
}

TEST_CASE("a run directory goes back to the step of a checkpoint") {
  const TemporaryDirectory directory;
  const RunDirectory run(directory.path(), EarlierRun::keep);
  for (const std::int64_t step : {0, 5, 10, 15, 123456789}) put(run.snapshot(step), "snapshot");
  for (const std::int64_t step : {4, 8, 12}) put(run.checkpoint(step), "checkpoint");
  for (const std::string& file : {run.summary(), run.series(), run.timing(), partial_name(run.checkpoint(12))})
    put(file, "text");
  put(run.file("checkpoint_best.h5"), "mine");
  put(run.file("snapshot_00000020.h5.bak"), "mine");

  std::vector<std::int64_t> listed, kept, left;
  for (const StepFile& file : checkpoints_in(directory.path())) listed.push_back(file.step);
  CHECK(listed == std::vector<std::int64_t>{12, 8, 4});
  for (const StepFile& file : run.go_back_to(10)) {
    kept.push_back(file.step);
    CHECK(fs::exists(file.path));
  }
  CHECK(kept == std::vector<std::int64_t>{0, 5});
  for (const StepFile& file : checkpoints_in(directory.path())) left.push_back(file.step);
  CHECK(left == std::vector<std::int64_t>{8, 4});
  for (const std::string& gone :
       {run.snapshot(10), run.snapshot(15), run.snapshot(123456789), run.summary(), partial_name(run.checkpoint(12))})
    CHECK_FALSE(fs::exists(gone));
  for (const std::string& there : {run.series(), run.timing(), run.file("checkpoint_best.h5"),
                                   run.file("snapshot_00000020.h5.bak"), run.snapshot(5)})
    CHECK(fs::exists(there));
  CHECK(checkpoints_in(directory.file("none")).empty());
}

TEST_CASE("grid, physics and initial condition are frozen, ends and outputs change at any time", "[config]") {
  std::set<std::string> restart, running;
  for (const ConfigKey& key : config_keys()) {
    if (key.change == KeyChange::restart) restart.insert(key.name);
    if (key.change == KeyChange::running) running.insert(config_table(key.name));
    const std::string table = config_table(key.name);
    if (table == "physics" || table == "initial" || table == "initial.noise" || key.name == "grid.cells" ||
        key.name == "grid.order" || key.name == "time.dt") {
      INFO(key.name);
      CHECK(key.change == KeyChange::frozen);
    }
  }
  for (const char* key : {"grid.decomposition", "output.directory", "run.backend"}) CHECK(restart.count(key) == 1);
  CHECK(running == std::set<std::string>{"time", "output", "run"});
}

TEST_CASE("the difference of two configurations names keys and both values; a key can be copied", "[config]") {
  const Config a = parse_config("time.end = 1.0\nphysics.viscosity = 0.1", "a");
  Config b = parse_config("time.max_steps = 7\nphysics.viscosity = 0.2", "b");
  CHECK(config_changes(a, a).empty());
  std::string text;
  for (const ConfigChange& c : config_changes(a, b)) text += c.key->name + ' ' + c.before + ' ' + c.after + '\n';
  CHECK(text == "time.end 1.0 not set\ntime.max_steps not set 7\nphysics.viscosity 0.1 0.2\n");
  for (const ConfigKey& key : config_keys()) key.copy(a, b);
  CHECK(to_toml(a) == to_toml(b));
}
