// Rules across keys. Every message names the other keys that it involves by their dotted names: the reader of the
// configuration file leaves out a violation that only follows from a key that it has already reported.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/config.hpp"

namespace mhd {
namespace {

constexpr double max_cells = 4398046511104.0;  // 2^42 cells; two sets of 8 fields of them are 512 TiB

std::string text(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}
std::string text(Int3 v) {
  return "[" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + "]";
}
std::string text(Real3 v) { return "[" + text(v.x) + ", " + text(v.y) + ", " + text(v.z) + "]"; }
std::string indexed(const std::string& key, std::size_t i) { return key + "[" + std::to_string(i) + "]"; }
std::string quoted(std::string_view word) { return "\"" + std::string(word) + "\""; }
std::string along(int axis) { return std::string("along ") + axis_name(axis); }

class Rules {
 public:
  explicit Rules(const Config& config) : c(config) {}

  std::vector<Violation> check() {
    grid();
    if (c.grid.decomposition) decomposition(*c.grid.decomposition);
    time();
    physics();
    initial_kind();
    initial_parameters();
    modes();
    noise();
    output();
    return std::move(violations);
  }

 private:
  const Config& c;
  std::vector<Violation> violations;

  void broken(std::string key, std::string message) { violations.push_back({std::move(key), std::move(message)}); }
  bool active(int axis) const { return c.grid.cells[axis] > 1; }
  bool kind_is(InitialKind kind) const { return c.initial.kind == kind; }

  void grid();
  void decomposition(Int3 parts);
  void time();
  void physics();
  void initial_kind();
  void initial_parameters();
  void three_dimensional(const char* kind);
  void cubic(const char* kind);
  void wave(const std::string& key, Int3 numbers);
  void alfven();
  void modes();
  void noise();
  void output();
  void field_list(const std::string& key, const std::vector<Field>& fields);
  void field(const std::string& key, Field f);
};

void Rules::grid() {
  const GridConfig& g = c.grid;
  if (g.cells == Int3{1, 1, 1})
    broken("grid.cells", "expected more than one cell in at least one direction, found [1, 1, 1]");
  const double total = double(g.cells.x) * double(g.cells.y) * double(g.cells.z);
  if (total > max_cells)
    broken("grid.cells", "expected at most " + text(max_cells) + " cells in all, found " + text(total));
  for (int axis = 0; axis < 3; ++axis) {
    const double spacing = g.size[axis] / g.cells[axis];
    const double reach = std::max(std::abs(g.origin[axis]), std::abs(g.origin[axis] + g.size[axis]));
    if (!std::isfinite(reach) || spacing < 16 * std::numeric_limits<double>::epsilon() * reach ||
        !std::isnormal(spacing * spacing))
      broken(indexed("grid.size", axis),
             std::string("expected cells that floating-point coordinates can tell apart, ") + "found a spacing of " +
                 text(spacing) + " at coordinates up to " + text(reach) + " (grid.size, grid.origin, grid.cells)");
  }
}

void Rules::decomposition(Int3 parts) {
  const GridConfig& g = c.grid;
  const int radius = g.order / 2;
  for (int axis = 0; axis < 3; ++axis) {
    if (parts[axis] <= 1) continue;
    const std::string key = indexed("grid.decomposition", axis);
    const std::string found =
        ", found " + std::to_string(parts[axis]) + " (grid.cells: " + std::to_string(g.cells[axis]) + ")";
    if (!active(axis))
      broken(key, "expected 1 " + along(axis) + ", which is inactive" + found);
    else if (g.cells[axis] / parts[axis] < radius)
      broken(key, "expected subdomains of at least " + std::to_string(radius) + (radius == 1 ? " cell " : " cells ") +
                      along(axis) + ", the stencil radius at grid.order = " + std::to_string(g.order) +
                      ", so at most " + std::to_string(std::max(1, g.cells[axis] / radius)) + found);
  }
  const double ranks = double(parts.x) * double(parts.y) * double(parts.z);
  if (ranks > std::numeric_limits<int>::max())
    broken("grid.decomposition", "expected at most 2147483647 subdomains, found " + text(ranks));
}

void Rules::time() {
  const TimeConfig& t = c.time;
  if (!t.end && !t.max_steps) broken("time.end", "expected time.end or time.max_steps, found neither");
  if (t.dt && *t.dt < t.min_dt)
    broken("time.min_dt", "expected at most time.dt = " + text(*t.dt) + ", found " + text(t.min_dt));
}

void Rules::physics() {
  const PhysicsConfig& p = c.physics;
  if (p.equation_of_state == EquationOfState::ideal_gas && !(p.gamma > 1))
    broken("physics.gamma",
           "expected a value > 1 with physics.equation_of_state = \"ideal_gas\", found " + text(p.gamma));
  if (p.equation_of_state == EquationOfState::isothermal && p.conduction != 0)
    broken("physics.conduction",
           "expected 0 with physics.equation_of_state = \"isothermal\", found " + text(p.conduction));
  if (p.magnetic) return;
  if (p.resistivity != 0)
    broken("physics.resistivity", "expected 0 with physics.magnetic = false, found " + text(p.resistivity));
  if (p.external_field != Real3{})
    broken("physics.external_field",
           "expected [0.0, 0.0, 0.0] with physics.magnetic = false, found " + text(p.external_field));
}

void Rules::initial_kind() {
  const InitialConfig& i = c.initial;
  const auto magnetic = [&](const char* kind) {
    if (!c.physics.magnetic)
      broken("initial.kind", std::string("expected physics.magnetic = true with \"") + kind + "\", found false");
  };
  switch (i.kind) {
    case InitialKind::uniform:
      break;
    case InitialKind::random:
      if (!(i.low < i.high))
        broken("initial.low", "expected less than initial.high = " + text(i.high) + ", found " + text(i.low));
      break;
    case InitialKind::sound_wave:
      wave("initial.wave_vector", i.wave_vector);
      break;
    case InitialKind::alfven_wave:
      magnetic("alfven_wave");
      wave("initial.wave_vector", i.wave_vector);
      if (c.physics.magnetic) alfven();
      break;
    case InitialKind::beltrami:
      magnetic("beltrami");
      three_dimensional("beltrami");
      cubic("beltrami");
      break;
    case InitialKind::abc_flow:
      three_dimensional("abc_flow");
      cubic("abc_flow");
      break;
    case InitialKind::orszag_tang:
      magnetic("orszag_tang");
      if (!active(0) || !active(1))
        broken("initial.kind", "expected more than one cell along x and y with \"orszag_tang\", found grid.cells = " +
                                   text(c.grid.cells));
      break;
    case InitialKind::taylor_green:
      magnetic("taylor_green");
      three_dimensional("taylor_green");
      break;
    case InitialKind::snapshot:
      if (i.file.empty())
        broken("initial.file", "expected a snapshot file with initial.kind = \"snapshot\", found none");
      break;
  }
}

void Rules::initial_parameters() {
  const InitialConfig& i = c.initial;
  if (!kind_is(InitialKind::snapshot) && !i.file.empty())
    broken("initial.file", "expected no file, since initial.kind is not \"snapshot\", found " + quoted(i.file));
  // These two kinds fill every field themselves: a background would be dropped without a word.
  if (kind_is(InitialKind::snapshot) || kind_is(InitialKind::random)) {
    const std::string because =
        std::string(" with initial.kind = ") + (kind_is(InitialKind::random) ? "\"random\"" : "\"snapshot\"");
    if (i.density)
      broken("initial.density", "expected no background density" + because + ", found " + text(*i.density));
    if (i.velocity != Real3{})
      broken("initial.velocity", "expected no background velocity" + because + ", found " + text(i.velocity));
  }
  if (kind_is(InitialKind::beltrami) || kind_is(InitialKind::abc_flow))
    for (int axis = 0; axis < 3; ++axis)
      if (active(axis) && 2 * std::int64_t{i.wave} > c.grid.cells[axis]) {
        broken("initial.wave", "expected at most " + std::to_string(c.grid.cells[axis] / 2) +
                                   " waves, half of the cells (grid.cells) " + along(axis) + ", found " +
                                   std::to_string(i.wave));
        break;
      }
}

void Rules::three_dimensional(const char* kind) {
  if (!active(0) || !active(1) || !active(2))
    broken("initial.kind", std::string("expected more than one cell in every direction with \"") + kind +
                               "\", found grid.cells = " + text(c.grid.cells));
}

/// The flows and fields with one wave number in all three directions.
void Rules::cubic(const char* kind) {
  const Real3 l = c.grid.size;
  if (l.x != l.y || l.x != l.z)
    broken("initial.kind", std::string("expected a cubic box with \"") + kind + "\", found grid.size = " + text(l));
}

/// Wave numbers that the grid can hold.
void Rules::wave(const std::string& key, Int3 numbers) {
  if (numbers == Int3{}) broken(key, "expected a wave number other than 0, found [0, 0, 0]");
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t n = std::llabs(numbers[axis]);
    const std::string found = ", found " + std::to_string(numbers[axis]);
    if (n != 0 && !active(axis))
      broken(indexed(key, axis), "expected 0 " + along(axis) + ", which has one cell (grid.cells)" + found);
    else if (2 * n > c.grid.cells[axis])
      broken(indexed(key, axis), "expected at most " + std::to_string(c.grid.cells[axis] / 2) +
                                     " waves, half of the cells (grid.cells) " + along(axis) + found);
  }
}

/// Only a wave along the imposed field has |B| constant in space, which makes it an exact solution.
void Rules::alfven() {
  const Real3 b = c.physics.external_field;
  if (b == Real3{}) {
    broken("physics.external_field",
           "expected a field other than zero with initial.kind = \"alfven_wave\", found " + text(b));
    return;
  }
  Real3 k;
  for (int axis = 0; axis < 3; ++axis) k[axis] = c.initial.wave_vector[axis] / c.grid.size[axis];
  const double cross = std::hypot(k.y * b.z - k.z * b.y, k.z * b.x - k.x * b.z, k.x * b.y - k.y * b.x);
  if (cross > 1e-6 * std::hypot(k.x, k.y, k.z) * std::hypot(b.x, b.y, b.z))
    broken("physics.external_field",
           "expected a field along the wave (initial.wave_vector in units of 1/grid.size) with initial.kind = "
           "\"alfven_wave\", found " +
               text(b));
}

void Rules::modes() {
  for (std::size_t m = 0; m < c.initial.modes.size(); ++m) {
    const Mode& mode = c.initial.modes[m];
    const std::string key = indexed("initial.modes", m);
    field(key + ".field", mode.field);
    for (std::size_t f = 0; f < mode.factors.size(); ++f) {
      const WaveFactor& factor = mode.factors[f];
      const std::string wave_key = indexed(key + ".factors", f) + ".wave";
      if (factor.wave != Int3{})
        wave(wave_key, factor.wave);
      else if (!factor.cosine && factor.phase == 0)
        broken(wave_key,
               "expected a wave number or a phase other than 0 with function = \"sin\", found a factor that "
               "is zero everywhere");
    }
  }
}

void Rules::noise() {
  const InitialConfig& i = c.initial;
  field_list("initial.noise.fields", i.noise_fields);
  if (i.noise_fields.empty() && i.noise_amplitude != 0)
    broken("initial.noise.fields",
           "expected at least one field with initial.noise.amplitude = " + text(i.noise_amplitude) + ", found none");
  if (!i.noise_fields.empty() && i.noise_amplitude == 0)
    broken("initial.noise.amplitude", "expected a value > 0 with initial.noise.fields, found 0");
}

void Rules::output() {
  const OutputConfig& o = c.output;
  field_list("output.snapshot_fields", o.snapshot_fields);
  if (o.snapshot_every_steps && o.snapshot_every_time)
    broken("output.snapshot_every_time",
           "expected one of output.snapshot_every_steps and output.snapshot_every_time, found both");
  if (o.series_every_steps && o.series_every_time)
    broken("output.series_every_time",
           "expected one of output.series_every_steps and output.series_every_time, found both");
  if (!o.snapshot_fields.empty() && !o.snapshot_every_steps && !o.snapshot_every_time && !o.snapshot_at_start &&
      !o.snapshot_at_end)
    broken("output.snapshot_fields",
           "expected no list, since no snapshot is asked for (output.snapshot_every_steps, output.snapshot_every_time, "
           "output.snapshot_at_start, output.snapshot_at_end), found one");
}

void Rules::field_list(const std::string& key, const std::vector<Field>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    field(indexed(key, i), fields[i]);
    if (std::find(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(i), fields[i]) !=
        fields.begin() + static_cast<std::ptrdiff_t>(i))
      broken(indexed(key, i), "expected each field once, found " + quoted(name(fields[i])) + " again");
  }
}

void Rules::field(const std::string& key, Field f) {
  if (c.physics.fields().has(f)) return;
  const char* because = f == Field::ss ? "physics.equation_of_state = \"isothermal\"" : "physics.magnetic = false";
  broken(key, "expected a field of this run (" + std::string(because) + "), found " + quoted(name(f)));
}

}  // namespace

std::vector<Violation> validate(const Config& config) { return Rules(config).check(); }

}  // namespace mhd
