// Wrong configurations and what is said about each. Every case is a file that is right but for the lines given.

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/config_file.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

/// The complaint about a configuration; empty if there is none.
std::string complaint(const std::string& text, const std::vector<std::string>& sets = {}) {
  try {
    parse_config(text, "run.toml", sets);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::configuration);
    CHECK(error.scope() == ErrorScope::everywhere);
    return error.what();
  }
  return "";
}

struct WrongFile {
  std::string text;     ///< the file; line 1 ends the run after ten steps unless the text starts with a newline
  std::string message;  ///< the whole complaint, without "run.toml:" in front and without the line with the count
};

const std::string preamble = "time.max_steps = 10\n";

const std::vector<WrongFile> wrong_files = {
    // Unknown names.
    {"[grid]\ncell = [8, 8, 8]", "3: grid.cell: unknown key, the nearest known name is grid.cells"},
    {"[gird]\ncells = [8, 8, 8]", "2: gird: unknown table, the nearest known name is grid"},
    {"[grid]\nviscosity = 1.0", "3: grid.viscosity: unknown key, the nearest known name is physics.viscosity"},
    {"viscosity = 1.0", "2: viscosity: unknown key, the nearest known name is physics.viscosity"},
    {"run.zzzzzz = 1",
     "2: run.zzzzzz: unknown key, known keys of [run]: backend, report_seconds, check_interval, "
     "stall_timeout, exchange_corners, oversubscribe, transport, rdma_threshold and overlap"},
    {"run.stall_timeout = -1.0", "2: run.stall_timeout: expected a float >= 0, found -1.0"},
    {"run.rdma_threshold = -1", "2: run.rdma_threshold: expected an integer >= 0, found -1"},
    {"run.transport = \"rdma\"",
     "2: run.transport: expected \"auto\", \"cuda_aware\", \"host_staged\", \"peer\" or \"mixed\", found \"rdma\""},
    {"[zzzzzzzzzzzz]",
     "2: zzzzzzzzzzzz: unknown table, known tables: grid, initial, initial.noise, output, physics, run and time"},
    {"[[initial.mode]]\nfield = \"ux\"", "2: initial.mode: unknown table, the nearest known name is initial.modes"},
    {"[[initial.modes]]\nfield = \"ux\"\namplitude = 1\nphase = 1",
     "5: initial.modes[0].phase: unknown key, known names: field, amplitude, factors"},
    // Wrong types.
    {"grid = 3", "2: grid: expected a table, found 3"},
    {"[[run]]\nbackend = \"cpu\"", "2: run: expected a table, found an array of 1 value"},
    {"[grid]\ncells = 64", "3: grid.cells: expected 3 integers, found 64"},
    {"[grid]\ncells = [64, 64]", "3: grid.cells: expected 3 integers, found an array of 2 values"},
    {"[grid]\ncells = [64, 64.0, 64]", "3: grid.cells[1]: expected an integer from 1 to 16777216, found 64.0"},
    {"[grid]\ncells = [\n64,\n64,\n\"64\"]", "6: grid.cells[2]: expected an integer from 1 to 16777216, found \"64\""},
    {"[grid.cells]\nx = 1", "2: grid.cells: expected 3 integers, found a table"},
    {"grid.size = [1.0, 1.0, true]", "2: grid.size[2]: expected a float > 0, found true"},
    {"time.end = \"1.0\"", "2: time.end: expected a float >= 0, found \"1.0\""},
    {"time.end = 2026-01-01", "2: time.end: expected a float >= 0, found a date or time"},
    {"physics.magnetic = 1", "2: physics.magnetic: expected true or false, found 1"},
    {"physics.magnetic = \"yes\"", "2: physics.magnetic: expected true or false, found \"yes\""},
    {"output.checkpoints_kept = 0", "2: output.checkpoints_kept: expected an integer from 1 to 1000000, found 0"},
    {"output.snapshot_compression = 10", "2: output.snapshot_compression: expected an integer from 0 to 9, found 10"},
    {"output.checkpoint_every_seconds = -1", "2: output.checkpoint_every_seconds: expected a float >= 0, found -1"},
    {"output.directory = 7", "2: output.directory: expected a string, found 7"},
    {"output.snapshot_fields = \"ux\"", "2: output.snapshot_fields: expected a list of field names, found \"ux\""},
    {"initial.modes = 3", "2: initial.modes: expected a list of tables, found 3"},
    {"initial.modes = [3]", "2: initial.modes[0]: expected a table with field, amplitude and factors, found 3"},
    {"initial.noise = [1]", "2: initial.noise: expected a table, found an array of 1 value"},
    // Lossy numbers and numbers out of range.
    {"time.courant_interval = 1.5", "2: time.courant_interval: expected an integer from 1 to 1000000, found 1.5"},
    {"time.courant_interval = 4294967297",
     "2: time.courant_interval: expected an integer from 1 to 1000000, found 4294967297"},
    {"physics.viscosity = 9007199254740993",
     "2: physics.viscosity: expected a float, or an integer of at most 2^53, found 9007199254740993"},
    {"initial.seed = -1", "2: initial.seed: expected an integer >= 0, found -1"},
    {"grid.order = 5", "2: grid.order: expected 2, 4, 6 or 8, found 5"},
    {"grid.cells = [8, 0, 8]", "2: grid.cells[1]: expected an integer from 1 to 16777216, found 0"},
    {"grid.size = [0, 1, 1]", "2: grid.size[0]: expected a float > 0, found 0"},
    {"grid.decomposition = [1, 1, 0]", "2: grid.decomposition[2]: expected an integer from 1 to 16777216, found 0"},
    {"time.dt = 0.0", "2: time.dt: expected a float > 0, found 0.0"},
    {"time.courant_advective = 2.5", "2: time.courant_advective: expected a float > 0 and <= 2, found 2.5"},
    {"time.courant_diffusive = 0", "2: time.courant_diffusive: expected a float > 0 and <= 1, found 0"},
    {"physics.viscosity = -1e-3", "2: physics.viscosity: expected a float >= 0, found -0.001"},
    {"physics.viscosity = inf", "2: physics.viscosity: expected a finite float >= 0, found inf"},
    {"physics.external_field = [0.0, nan, 0.0]", "2: physics.external_field[1]: expected a finite float, found nan"},
    {"output.snapshot_every_steps = 0", "2: output.snapshot_every_steps: expected an integer >= 1, found 0"},
    {"run.report_seconds = 0", "2: run.report_seconds: expected a float > 0, found 0"},
    // Choices.
    {"physics.equation_of_state = \"ideal\"",
     "2: physics.equation_of_state: expected \"isothermal\" or \"ideal_gas\", found \"ideal\""},
    {"physics.viscosity_kind = \"nu\"",
     "2: physics.viscosity_kind: expected \"nu-const\" or \"rho-nu-const\", found "
     "\"nu\""},
    {"run.backend = \"GPU\"", "2: run.backend: expected \"auto\", \"cpu\" or \"gpu\", found \"GPU\""},
    {"output.snapshot_fields = [\"ux\", \"bx\"]",
     "2: output.snapshot_fields[1]: expected \"lnrho\", \"ux\", \"uy\", \"uz\", \"ax\", \"ay\", \"az\" or \"ss\", "
     "found "
     "\"bx\""},
    {"initial.modes = [{ field = \"ux\", amplitude = 1, factors = [{ function = \"tan\", wave = [1, 0, 0] }] }]",
     "2: initial.modes[0].factors[0].function: expected \"sin\" or \"cos\", found \"tan\""},
    // Missing.
    {"\ngrid.order = 6", "time.end: expected time.end or time.max_steps, found neither"},
    {"\n[time]\ndt = 0.1", "1: time.end: expected time.end or time.max_steps, found neither"},
    {"[[initial.modes]]\nfield = \"ux\"", "2: initial.modes[0]: expected the key amplitude (float), found none"},
    {"[[initial.modes]]\nfield = \"ux\"\namplitude = 1\nfactors = [{ function = \"sin\" }]",
     "5: initial.modes[0].factors[0]: expected the key wave (3 integers), found none"},
    {"initial.kind = \"snapshot\"",
     "2: initial.file: expected a snapshot file with initial.kind = \"snapshot\", found none"},
    // Contradictions: grid and time.
    {"grid.cells = [1, 1, 1]", "2: grid.cells: expected more than one cell in at least one direction, found [1, 1, 1]"},
    {"grid.cells = [16777216, 16777216, 2]",
     "2: grid.cells: expected at most 4398046511104 cells in all, found 562949953421312"},
    {"grid.origin = [1e18, 0.0, 0.0]",
     "2: grid.size[0]: expected cells that floating-point coordinates can tell apart, found a spacing of "
     "0.09817477042468103 at coordinates up to 1e+18 (grid.size, grid.origin, grid.cells)"},
    {"grid.cells = [8, 8, 1]\ngrid.decomposition = [1, 1, 2]",
     "3: grid.decomposition[2]: expected 1 along z, which is inactive, found 2 (grid.cells: 1)"},
    {"grid.decomposition = [22, 1, 1]",
     "2: grid.decomposition[0]: expected subdomains of at least 3 cells along x, the stencil radius at grid.order = 6, "
     "so at most 21, found 22 (grid.cells: 64)"},
    {"grid.order = 2\ngrid.decomposition = [1, 65, 1]",
     "3: grid.decomposition[1]: expected subdomains of at least 1 cell along y, the stencil radius at grid.order = 2, "
     "so at most 64, found 65 (grid.cells: 64)"},
    {"time.dt = 1e-3\ntime.min_dt = 1e-2", "3: time.min_dt: expected at most time.dt = 0.001, found 0.01"},
    // Contradictions: physics.
    {"physics.gamma = 1",
     "2: physics.gamma: expected a value > 1 with physics.equation_of_state = \"ideal_gas\", found 1"},
    {"physics.equation_of_state = \"isothermal\"\nphysics.conduction = 0.1",
     "3: physics.conduction: expected 0 with physics.equation_of_state = \"isothermal\", found 0.1"},
    {"physics.magnetic = false\nphysics.resistivity = 0.1",
     "3: physics.resistivity: expected 0 with physics.magnetic = false, found 0.1"},
    {"physics.magnetic = false\nphysics.external_field = [0, 0, 1]",
     "3: physics.external_field: expected [0.0, 0.0, 0.0] with physics.magnetic = false, found [0, 0, 1]"},
    // Contradictions: initial condition.
    {"physics.magnetic = false\ninitial.kind = \"beltrami\"",
     "3: initial.kind: expected physics.magnetic = true with \"beltrami\", found false"},
    {"physics.magnetic = false\ninitial.kind = \"orszag_tang\"",
     "3: initial.kind: expected physics.magnetic = true with \"orszag_tang\", found false"},
    {"initial.kind = \"alfven_wave\"",
     "physics.external_field: expected a field other than zero with initial.kind = \"alfven_wave\", found [0, 0, 0]"},
    {"initial.kind = \"alfven_wave\"\nphysics.external_field = [1, 1, 0]",
     "3: physics.external_field: expected a field along the wave (initial.wave_vector in units of 1/grid.size) with "
     "initial.kind = \"alfven_wave\", found [1, 1, 0]"},
    {"initial.kind = \"sound_wave\"\ninitial.wave_vector = [0, 0, 0]",
     "3: initial.wave_vector: expected a wave number other than 0, found [0, 0, 0]"},
    {"grid.cells = [64, 1, 1]\ninitial.kind = \"sound_wave\"\ninitial.wave_vector = [1, 1, 0]",
     "4: initial.wave_vector[1]: expected 0 along y, which has one cell (grid.cells), found 1"},
    {"initial.kind = \"sound_wave\"\ninitial.wave_vector = [0, -33, 0]",
     "3: initial.wave_vector[1]: expected at most 32 waves, half of the cells (grid.cells) along y, found -33"},
    {"initial.kind = \"abc_flow\"\ninitial.wave = 40",
     "3: initial.wave: expected at most 32 waves, half of the cells (grid.cells) along x, found 40"},
    {"initial.kind = \"abc_flow\"\ngrid.size = [1, 1, 2]",
     "2: initial.kind: expected a cubic box with \"abc_flow\", found grid.size = [1, 1, 2]"},
    {"initial.kind = \"taylor_green\"\ngrid.cells = [8, 8, 1]",
     "2: initial.kind: expected more than one cell in every direction with \"taylor_green\", found grid.cells = [8, 8, "
     "1]"},
    {"initial.kind = \"orszag_tang\"\ngrid.cells = [8, 1, 8]",
     "2: initial.kind: expected more than one cell along x and y with \"orszag_tang\", found grid.cells = [8, 1, 8]"},
    {"initial.kind = \"random\"\ninitial.low = 1", "3: initial.low: expected less than initial.high = 1, found 1"},
    {"initial.kind = \"random\"\ninitial.density = 2",
     "3: initial.density: expected no background density with initial.kind = \"random\", found 2"},
    {"initial.file = \"a.h5\"",
     "2: initial.file: expected no file, since initial.kind is not \"snapshot\", found \"a.h5\""},
    {"physics.magnetic = false\n[[initial.modes]]\nfield = \"ay\"\namplitude = 1",
     "4: initial.modes[0].field: expected a field of this run (physics.magnetic = false), found \"ay\""},
    {"grid.cells = [64, 1, 1]\n[[initial.modes]]\nfield = \"ux\"\namplitude = 1\nfactors = [{ function = \"cos\", wave "
     "= [0, 0, 1] }]",
     "6: initial.modes[0].factors[0].wave[2]: expected 0 along z, which has one cell (grid.cells), found 1"},
    {"[[initial.modes]]\nfield = \"ux\"\namplitude = 1\nfactors = [{ function = \"sin\", wave = [0, 0, 0] }]",
     "5: initial.modes[0].factors[0].wave: expected a wave number or a phase other than 0 with function = \"sin\", "
     "found "
     "a factor that is zero everywhere"},
    {"physics.equation_of_state = \"isothermal\"\ninitial.noise = { fields = [\"ux\", \"ss\"], amplitude = 1 }",
     "3: initial.noise.fields[1]: expected a field of this run (physics.equation_of_state = \"isothermal\"), found "
     "\"ss\""},
    {"initial.noise.amplitude = 0.1",
     "2: initial.noise.fields: expected at least one field with initial.noise.amplitude = 0.1, found none"},
    {"initial.noise.fields = [\"ux\"]",
     "2: initial.noise.amplitude: expected a value > 0 with initial.noise.fields, found 0"},
    {"initial.noise = { fields = [\"ux\", \"uy\", \"ux\"], amplitude = 1 }",
     "2: initial.noise.fields[2]: expected each field once, found \"ux\" again"},
    // Contradictions: output.
    {"output.snapshot_every_steps = 1\noutput.snapshot_every_time = 1",
     "3: output.snapshot_every_time: expected one of output.snapshot_every_steps and output.snapshot_every_time, found "
     "both"},
    {"output.series_every_steps = 1\noutput.series_every_time = 1",
     "3: output.series_every_time: expected one of output.series_every_steps and output.series_every_time, found both"},
    {"physics.magnetic = false\noutput.snapshot_fields = [\"ux\", \"az\"]",
     "3: output.snapshot_fields[1]: expected a field of this run (physics.magnetic = false), found \"az\""},
    {"output.snapshot_fields = [\"ux\", \"ux\"]",
     "2: output.snapshot_fields[1]: expected each field once, found \"ux\" again"},
    {"[output]\nsnapshot_fields = [\"ux\"]\nsnapshot_at_start = false\nsnapshot_at_end = false",
     "3: output.snapshot_fields: expected no list, since no snapshot is asked for (output.snapshot_every_steps, "
     "output.snapshot_every_time, output.snapshot_at_start, output.snapshot_at_end), found one"},
};

}  // namespace

TEST_CASE("each wrong configuration is refused with its line, what was expected and what was found", "[config]") {
  CHECK(complaint(preamble).empty());
  CHECK(wrong_files.size() >= 45);
  for (const WrongFile& wrong : wrong_files) {
    INFO(wrong.text);
    const std::string text = wrong.text[0] == '\n' ? wrong.text.substr(1) : preamble + wrong.text;
    const std::string place =
        std::isdigit(static_cast<unsigned char>(wrong.message[0])) != 0 ? "run.toml:" : "run.toml: ";
    CHECK(complaint(text) == place + wrong.message + "\n1 error in the configuration run.toml");
  }
}

TEST_CASE("TOML syntax errors are reported with line and column", "[config]") {
  const auto at_line = [](const std::string& text, int line) {
    const std::string start = "run.toml:" + std::to_string(line) + ":", found = complaint(text);
    INFO(found);
    CHECK(found.compare(0, start.size(), start) == 0);
    CHECK(found.find_first_not_of("0123456789", start.size()) == found.find(": ", start.size()));
    CHECK(found.find(": ", start.size()) > start.size());
  };
  at_line("[time]\nend = = 1\n", 2);
  at_line("[time]\nend = 1\nend = 2\n", 3);
  at_line("[time]\nmax_steps = 9223372036854775808\n", 2);
  at_line("[grid\n", 1);
  at_line("time.end = 1\n[[time]]\nend = 1\n", 2);
  // Nothing is said about keys that were never read.
  const std::string only = complaint("[grid\n");
  CHECK(std::count(only.begin(), only.end(), '\n') == 1);
}

TEST_CASE("all errors of a file and of --set are reported at once, in order", "[config]") {
  const std::string text = R"([output]
snapshot_fields = ["ux", "ss"]
snapshot_every_time = -1
[physics]
equation_of_state = "isothermal"
resistivty = 0.1
conduction = 2
[grid]
order = 3
cells = [64, 0, 1.5]
decomposition = [1, 1, 99]
[time]
max_step = 10
)";
  CHECK(
      complaint(text, {"run.backend=\"tpu\"", "time.dt=0", "grid.order=7"}) ==
      R"(run.toml:2: output.snapshot_fields[1]: expected a field of this run (physics.equation_of_state = "isothermal"), found "ss"
run.toml:3: output.snapshot_every_time: expected a float > 0, found -1
run.toml:6: physics.resistivty: unknown key, the nearest known name is physics.resistivity
run.toml:7: physics.conduction: expected 0 with physics.equation_of_state = "isothermal", found 2
run.toml:9: grid.order: expected 2, 4, 6 or 8, found 3
run.toml:10: grid.cells[1]: expected an integer from 1 to 16777216, found 0
run.toml:10: grid.cells[2]: expected an integer from 1 to 16777216, found 1.5
run.toml:13: time.max_step: unknown key, the nearest known name is time.max_steps
--set run.backend="tpu": expected "auto", "cpu" or "gpu", found "tpu"
--set time.dt=0: expected a float > 0, found 0
--set grid.order=7: expected 2, 4, 6 or 8, found 7
11 errors in the configuration run.toml)");
}

TEST_CASE("wrong --set arguments are refused with the argument and a remedy", "[config]") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"grid.order=5", "grid.order=5: expected 2, 4, 6 or 8, found 5"},
      {"grid.ordr=6", "grid.ordr=6: unknown key, the nearest known name is grid.order"},
      {"grid.cells=[8,8,0]", "grid.cells=[8,8,0]: grid.cells[2]: expected an integer from 1 to 16777216, found 0"},
      {"output.directory=run1",
       "output.directory=run1: expected a TOML value (string), found run1; strings need quotes: --set "
       "'output.directory=\"run1\"'"},
      {"grid.cells=8,8,8",
       "grid.cells=8,8,8: expected a TOML value (3 integers), found 8,8,8; strings need quotes within the shell's own, "
       "lists need brackets"},
      {"time.dt=",
       "time.dt=: expected a TOML value (float), found nothing; strings need quotes within the shell's own, "
       "lists need brackets"},
      {"grid.order", "grid.order: expected table.key=value, found \"grid.order\""},
      {"=3", "=3: expected table.key=value, found \"=3\""},
      {"[grid]\norder=4", "[grid]\norder=4: expected table.key=value, found \"[grid]\\u000aorder=4\""},
      {"grid=4", "grid=4: expected a table, found 4"},
      {"physics.magnetic=true\nphysics.viscosity=-1",
       "physics.magnetic=true\nphysics.viscosity=-1: physics.viscosity: expected a float >= 0, found -1"},
      // A rule across keys, broken by --set alone and against the file.
      {"grid.cells=[1,1,1]",
       "grid.cells=[1,1,1]: expected more than one cell in at least one direction, found [1, 1, 1]"},
      {"output.snapshot_every_time=1.0",
       "output.snapshot_every_time=1.0: expected one of output.snapshot_every_steps and output.snapshot_every_time, "
       "found both"},
  };
  for (const auto& [argument, message] : wrong) {
    INFO(argument);
    CHECK(complaint(preamble + "output.snapshot_every_steps = 5", {argument}) ==
          "--set " + message + "\n1 error in the configuration run.toml");
  }
}

TEST_CASE("a rule that --set breaks with a key of the file is reported at the line of that key", "[config]") {
  CHECK(complaint(preamble + "[physics]\nresistivity = 0.1\n", {"physics.magnetic=false"}) ==
        "run.toml:3: physics.resistivity: expected 0 with physics.magnetic = false, found 0.1\n"
        "1 error in the configuration run.toml");
}

TEST_CASE("a configuration file that cannot be read is an error with path and cause", "[config]") {
  const auto cause = [](const std::string& path) -> std::string {
    try {
      load_config(path);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::configuration);
      CHECK(error.scope() == ErrorScope::everywhere);
      return error.what();
    }
    return "";
  };
  CHECK(cause("missing/run.toml") == "missing/run.toml: cannot read the configuration file: No such file or directory");
  CHECK(cause(MHD_SOURCE_DIR) == std::string(MHD_SOURCE_DIR) + ": cannot read the configuration file: Is a directory");
}
