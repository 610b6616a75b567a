// The run configuration: defaults, reading, writing, --set, the documentation page, the shipped files.

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "io/config_file.hpp"
#include "io/config_schema.hpp"
#include "io/nearest_name.hpp"
#include "tests/catch.hpp"

using namespace mhd;

namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Config parse(const std::string& text, const std::vector<std::string>& sets = {}) {
  return parse_config(text, "run.toml", sets);
}

/// A configuration with no value at its default, as far as the rules allow.
const char* const full_text = R"(
[grid]
cells = [50, 46, 38]
size = [1.5, 2, 0.1]
origin = [-0.75, 1e-3, 1e10]
order = 8
decomposition = [2, 1, 3]
[time]
end = 0.30000000000000004
max_steps = 9007199254740993
dt = 1.19209e-7
courant_advective = 0.7
courant_diffusive = 0.2
courant_interval = 5
min_dt = 1e-300
[physics]
equation_of_state = "ideal_gas"
magnetic = true
viscosity_kind = "rho-nu-const"
viscosity = 0.1
bulk_viscosity = 0.2
resistivity = 0.3
conduction_kind = "chi-const"
conduction = 0.4
gamma = 1.4
cp = 2
mu0 = 12.566370614359172
reference_density = 3.0
sound_speed = 0.5
external_field = [-0.0, 0.1, 0.2]
[initial]
kind = "sound_wave"
amplitude = -0.1
wave = 3
wave_vector = [1, -2, 3]
density = 1.1
velocity = [0.1, 0.2, 0.3]
low = -1
high = 2
seed = 9223372036854775807
modes = [{ field = "ss", amplitude = 0.25 }]
[initial.noise]
fields = ["uz", "lnrho"]
amplitude = 1e-5
[output]
directory = "a \"run\" in C:\\temp\n\u00fc"
snapshot_every_steps = 7
snapshot_at_start = false
snapshot_at_end = false
snapshot_precision = "float32"
snapshot_compression = 4
snapshot_fields = ["ss", "ux"]
series_every_time = 0.125
checkpoint_every_seconds = 60
checkpoint_every_steps = 11
checkpoint_at_end = true
checkpoints_kept = 3
overlap = true
[run]
backend = "cpu"
report_seconds = 0.5
check_interval = 3
stall_timeout = 60
rdma_threshold = 1024
exchange_corners = true
oversubscribe = true
transport = "host_staged"
overlap = false
)";

}  // namespace

TEST_CASE("keys that are not given have the documented defaults", "[config]") {
  const Config c = parse("time.end = 1");
  CHECK(c.grid.cells == Int3{64, 64, 64});
  CHECK(c.grid.order == 6);
  CHECK_FALSE(c.grid.decomposition);
  CHECK(c.time.end == 1.0);
  CHECK_FALSE(c.time.max_steps);
  CHECK_FALSE(c.time.dt);
  CHECK(c.time.courant_advective == 0.9);
  CHECK(c.physics.equation_of_state == EquationOfState::ideal_gas);
  CHECK(c.physics.magnetic);
  CHECK(c.physics.gamma == 5.0 / 3.0);
  CHECK(c.initial.kind == InitialKind::uniform);
  CHECK(c.initial.modes.empty());
  CHECK(c.output.snapshot_precision == Precision::float64);
  CHECK(c.output.snapshot_compression == 0);
  CHECK(c.run.backend == Backend::automatic);
}

TEST_CASE("every key reaches its member", "[config]") {
  const Config c = parse(full_text);
  CHECK(c.grid.cells == Int3{50, 46, 38});
  CHECK(c.grid.size == Real3{1.5, 2, 0.1});
  CHECK(c.grid.origin == Real3{-0.75, 1e-3, 1e10});
  CHECK(c.grid.order == 8);
  CHECK(c.grid.decomposition == Int3{2, 1, 3});
  CHECK(c.time.end == 0.30000000000000004);
  CHECK(c.time.max_steps == std::int64_t{9007199254740993});
  CHECK(c.time.dt == 1.19209e-7);
  CHECK(c.time.courant_advective == 0.7);
  CHECK(c.time.courant_diffusive == 0.2);
  CHECK(c.time.courant_interval == 5);
  CHECK(c.time.min_dt == 1e-300);
  CHECK(c.physics.viscosity_kind == ViscosityKind::rho_nu_const);
  CHECK(c.physics.viscosity == 0.1);
  CHECK(c.physics.bulk_viscosity == 0.2);
  CHECK(c.physics.resistivity == 0.3);
  CHECK(c.physics.conduction_kind == ConductionKind::chi_const);
  CHECK(c.physics.conduction == 0.4);
  CHECK(c.physics.gamma == 1.4);
  CHECK(c.physics.cp == 2.0);
  CHECK(c.physics.mu0 == 12.566370614359172);
  CHECK(c.physics.reference_density == 3.0);
  CHECK(c.physics.sound_speed == 0.5);
  CHECK(c.physics.external_field == Real3{0, 0.1, 0.2});
  CHECK(c.initial.kind == InitialKind::sound_wave);
  CHECK(c.initial.amplitude == -0.1);
  CHECK(c.initial.wave == 3);
  CHECK(c.initial.wave_vector == Int3{1, -2, 3});
  CHECK(c.initial.density == 1.1);
  CHECK(c.initial.velocity == Real3{0.1, 0.2, 0.3});
  CHECK(c.initial.low == -1.0);
  CHECK(c.initial.high == 2.0);
  CHECK(c.initial.seed == 9223372036854775807u);
  CHECK(c.initial.modes.size() == 1);
  CHECK(c.initial.noise_fields == std::vector<Field>{Field::uz, Field::lnrho});
  CHECK(c.initial.noise_amplitude == 1e-5);
  CHECK(c.output.directory == "a \"run\" in C:\\temp\n\xc3\xbc");
  CHECK(c.output.snapshot_every_steps == 7);
  CHECK_FALSE(c.output.snapshot_at_start);
  CHECK_FALSE(c.output.snapshot_at_end);
  CHECK(c.output.snapshot_precision == Precision::float32);
  CHECK(c.output.snapshot_compression == 4);
  CHECK(c.output.snapshot_fields == std::vector<Field>{Field::ss, Field::ux});
  CHECK(c.output.series_every_time == 0.125);
  CHECK(c.output.checkpoint_every_seconds == 60);
  CHECK(c.output.checkpoint_every_steps == 11);
  CHECK(c.output.checkpoint_at_end);
  CHECK(c.output.checkpoints_kept == 3);
  CHECK(c.output.overlap == true);
  CHECK(c.run.backend == Backend::cpu);
  CHECK(c.run.report_seconds == 0.5);
  CHECK(c.run.check_interval == 3);
  CHECK(c.run.stall_timeout == 60);
  CHECK(c.run.rdma_threshold == 1024);
  CHECK(c.run.exchange_corners);
  CHECK(c.run.oversubscribe);
  CHECK(c.run.transport == TransportChoice::host_staged);
  CHECK_FALSE(c.run.overlap);

  SECTION("and no key was forgotten above: each differs from its default, but for those that the rules exclude") {
    const std::set<std::string> at_default = {"physics.equation_of_state", "physics.magnetic", "initial.file",
                                              "output.snapshot_every_time", "output.series_every_steps"};
    for (const ConfigKey& key : config_keys()) {
      INFO(key.name);
      CHECK((key.get(c) == key.get(Config{})) == (at_default.count(key.name) == 1));
    }
  }
  CHECK(parse("time.end = 1\nphysics.equation_of_state = \"isothermal\"").physics.equation_of_state ==
        EquationOfState::isothermal);
  CHECK_FALSE(parse("time.end = 1\nphysics.magnetic = false").physics.magnetic);
  CHECK(parse("time.end = 1\ninitial = { kind = \"snapshot\", file = \"a.h5\" }").initial.file == "a.h5");
  CHECK(parse("time.end = 1\noutput.snapshot_every_time = 2").output.snapshot_every_time == 2.0);
  CHECK(parse("time.end = 1\noutput.series_every_steps = 2").output.series_every_steps == 2);
}

TEST_CASE("modes are read with all their factors", "[config]") {
  const Config c = parse(R"(
[time]
end = 1
[[initial.modes]]
field = "ux"
amplitude = 0.2
factors = [{ function = "sin", wave = [0, 1, 0], phase = 0.1 }, { function = "cos", wave = [0, 0, 2] }]
[[initial.modes]]
field = "ss"
amplitude = 1
)");
  REQUIRE(c.initial.modes.size() == 2);
  const Mode& m = c.initial.modes[0];
  CHECK(m.field == Field::ux);
  CHECK(m.amplitude == 0.2);
  REQUIRE(m.factors.size() == 2);
  CHECK_FALSE(m.factors[0].cosine);
  CHECK(m.factors[0].wave == Int3{0, 1, 0});
  CHECK(m.factors[0].phase == 0.1);
  CHECK(m.factors[1].cosine);
  CHECK(m.factors[1].wave == Int3{0, 0, 2});
  CHECK(m.factors[1].phase == 0.0);
  CHECK(c.initial.modes[1].field == Field::ss);
  CHECK(c.initial.modes[1].factors.empty());
  CHECK(to_toml(parse(to_toml(c))) == to_toml(c));
}

TEST_CASE("the written configuration reads back as the same one", "[config]") {
  const Config c = parse(full_text);
  const Config again = parse(to_toml(c));
  for (const ConfigKey& key : config_keys()) {
    INFO(key.name);
    CHECK(key.get(again) == key.get(c));
  }
  CHECK(to_toml(again) == to_toml(c));
  for (const ConfigKey& key : config_keys()) {
    INFO(key.name);
    CHECK(to_toml(c).find((key.get(c) ? "\n" : "\n# ") + config_leaf(key.name)) != std::string::npos);
  }
}

TEST_CASE("doubles survive writing and reading to the last bit", "[config]") {
  std::mt19937_64 random(1);
  Config c;
  c.time.end = 1;
  for (int i = 0; i < 2000; ++i) {
    // Any normal double, of either sign.
    double value = 0;
    while (!std::isnormal(value)) value = std::bit_cast<double>(random());
    c.initial.amplitude = value;
    const double again = parse(to_toml(c)).initial.amplitude;
    INFO(value);
    REQUIRE(std::bit_cast<std::uint64_t>(again) == std::bit_cast<std::uint64_t>(value));
  }
  c.initial.amplitude = -0.0;
  CHECK(std::signbit(parse(to_toml(c)).initial.amplitude));
}

TEST_CASE("--set takes precedence over the file, the last one over earlier ones", "[config]") {
  const std::string text = "[grid]\ncells = [8, 8, 8]\norder = 4\n[time]\nend = 1.0\n";
  const Config c =
      parse(text, {"grid.cells=[16,17,18]", "time.dt = 1e-3", "initial.kind=\"abc_flow\"", "initial.kind=\"random\"",
                   "initial.noise={fields=[\"ux\"], amplitude=1}", "output.directory=\"a=b\""});
  CHECK(c.grid.cells == Int3{16, 17, 18});
  CHECK(c.grid.order == 4);
  CHECK(c.time.dt == 1e-3);
  CHECK(c.initial.kind == InitialKind::random);
  CHECK(c.initial.noise_fields == std::vector<Field>{Field::ux});
  CHECK(c.output.directory == "a=b");
}

TEST_CASE("every number has a unit, every key a description and a default or a word for its absence", "[config]") {
  std::set<std::string> names;
  const auto check = [&](const auto& key, const std::string& name, bool has_default) {
    INFO(name);
    CHECK(names.insert(name).second);
    CHECK_FALSE(key.description.empty());
    CHECK(key.description.back() == '.');
    const bool number = key.type.find("integer") != std::string::npos || key.type.find("float") != std::string::npos;
    CHECK(number == !key.unit.empty());
    CHECK(has_default == key.absent.empty());
  };
  for (const auto& key : config_keys()) check(key, key.name, key.get(Config{}).has_value());
  for (const auto& key : mode_keys()) check(key, "mode " + key.name, true);
  for (const auto& key : wave_factor_keys()) check(key, "factor " + key.name, true);
}

TEST_CASE("docs/configuration.md lists the keys of the program", "[config]") {
  const std::string begin = "<!-- reference: begin -->\n", end = "<!-- reference: end -->\n";
  const std::string page = read_text(std::filesystem::path(MHD_SOURCE_DIR) / "docs/configuration.md");
  const auto from = page.find(begin), to = page.find(end);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  const std::string written = page.substr(from + begin.size(), to - from - begin.size());
  if (written != configuration_reference()) {
    std::ofstream("configuration.md.expected")
        << page.substr(0, from) << begin << configuration_reference() << page.substr(to);
    FAIL("docs/configuration.md is out of date: copy configuration.md.expected from the working directory over it");
  }
  CHECK(written == configuration_reference());
}

TEST_CASE("every configuration in configs/ and the example in the documentation are right", "[config]") {
  std::vector<std::string> loaded;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(MHD_SOURCE_DIR) / "configs")) {
    if (file.is_directory()) continue;  // scans: another format
    INFO(file.path());
    CHECK(file.path().extension() == ".toml");
    const Config c = load_config(file.path().string());
    CHECK_FALSE(c.output.directory.empty());
    loaded.push_back(file.path().stem().string());
  }
  CHECK(std::count(loaded.begin(), loaded.end(), "quickstart") == 1);

  const std::string page = read_text(std::filesystem::path(MHD_SOURCE_DIR) / "docs/configuration.md");
  const std::string fence = "```toml\n";
  const auto from = page.find(fence) + fence.size();
  CHECK(parse(page.substr(from, page.find("```", from) - from)).initial.kind == InitialKind::beltrami);
}

TEST_CASE("edit distance counts insertions, deletions, substitutions and swaps", "[config]") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("cells", "cells") == 0);
  CHECK(edit_distance("cells", "cell") == 1);
  CHECK(edit_distance("cells", "ccells") == 1);
  CHECK(edit_distance("order", "odrer") == 1);
  CHECK(edit_distance("order", "older") == 1);
  CHECK(nearest_name("grid.viscosity", {"grid.cells", "physics.viscosity"}) == "physics.viscosity");
  CHECK_FALSE(nearest_name("grid.zzz", {"grid.cells", "physics.viscosity"}));
}
