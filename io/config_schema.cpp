#include "io/config_schema.hpp"

#include <fmt/format.h>

#include "io/config_codec.hpp"
#include "io/config_modes.hpp"

namespace mhd {
namespace {

using config_range::above_to;
using config_range::at_least;
using config_range::between;
using config_range::one_of;
using config_range::positive;

/// What a key is beyond its type, which follows from its member.
struct About {
  std::string unit = "";
  ConfigRange range = {};
  std::string description = "";
  std::string absent = "";
  bool required = false;
};

/// An entry whose value is a member; `member` maps an Owner, const or not, to a reference to it.
template <class Owner, class Member>
ConfigEntry<Owner> entry(std::string name, About about, Member member, KeyChange change = KeyChange::frozen) {
  using T = std::remove_cvref_t<decltype(member(std::declval<Owner&>()))>;
  ConfigEntry<Owner> e;
  e.name = std::move(name);
  e.type = Codec<T>::type();
  e.unit = about.unit;
  e.range = Codec<T>::range(about.range);
  e.description = about.description;
  e.absent = about.absent;
  e.required = about.required;
  e.change = change;
  e.set = [member, range = about.range](const ConfigReader& in, Owner& owner) {
    T value = member(owner);
    const std::size_t problems = in.problems().count();
    Codec<T>::read(in, range, value);
    if (in.problems().count() == problems) member(owner) = std::move(value);
  };
  e.get = [member](const Owner& owner) { return Codec<T>::write(member(owner)); };
  e.copy = [member](const Owner& from, Owner& to) { member(to) = member(from); };
  return e;
}

// Maps an owner to a reference to one of its members.
#define MHD_MEMBER(member) \
  [](auto& owner) -> auto& { return owner.member; }

constexpr double most_cells = 16777216;  // per direction
constexpr double most_waves = 8388608;   // half of that

void add_grid(std::vector<ConfigKey>& keys) {
  const auto add = [&](const char* name, About about, auto member, KeyChange change = KeyChange::frozen) {
    keys.push_back(entry<Config>(std::string("grid.") + name, std::move(about), member, change));
  };
  add("cells", {"1", between(1, most_cells), "Cells along x, y and z; 1 makes a direction inactive."},
      MHD_MEMBER(grid.cells));
  add("size", {"length", positive(), "Box lengths; the box is periodic."}, MHD_MEMBER(grid.size));
  add("origin", {"length", {}, "Lower corner x0 of the box: cell i has its centre at x0 + (i + 1/2) size/cells."},
      MHD_MEMBER(grid.origin));
  add("order", {"1", one_of({2, 4, 6, 8}), "Order of the finite differences; the stencil radius is half of it."},
      MHD_MEMBER(grid.order));
  add("decomposition",
      {"1", between(1, most_cells), "Subdomains along x, y and z; their product must be the number of ranks.",
       "the one with the least communication"},
      MHD_MEMBER(grid.decomposition), KeyChange::restart);
}

void add_time(std::vector<ConfigKey>& keys) {
  const auto add = [&](const char* name, About about, auto member, KeyChange change = KeyChange::frozen) {
    keys.push_back(entry<Config>(std::string("time.") + name, std::move(about), member, change));
  };
  add("end", {"time", at_least(0), "Stop at this time. Give this, max_steps or both.", "no limit"},
      MHD_MEMBER(time.end), KeyChange::running);
  add("max_steps", {"1", at_least(0), "Stop after this many steps.", "no limit"}, MHD_MEMBER(time.max_steps),
      KeyChange::running);
  add("dt", {"time", positive(), "Fixed time step.", "from the Courant condition"}, MHD_MEMBER(time.dt));
  add("courant_advective", {"1", above_to(0, 2), "Courant number of flow, sound and Alfven waves."},
      MHD_MEMBER(time.courant_advective));
  add("courant_diffusive", {"1", above_to(0, 1), "Courant number of viscosity, resistivity and conduction."},
      MHD_MEMBER(time.courant_diffusive));
  add("courant_interval", {"1", between(1, 1e6), "Steps between evaluations of the Courant condition."},
      MHD_MEMBER(time.courant_interval));
  add("min_dt", {"time", at_least(0), "A Courant step below this ends the run as a numerical failure."},
      MHD_MEMBER(time.min_dt), KeyChange::running);
}

void add_physics(std::vector<ConfigKey>& keys) {
  const auto add = [&](const char* name, About about, auto member) {
    keys.push_back(entry<Config>(std::string("physics.") + name, std::move(about), member));
  };
  add("equation_of_state", {"", {}, "\"ideal_gas\" solves for the entropy ss; \"isothermal\" has none."},
      MHD_MEMBER(physics.equation_of_state));
  add("magnetic", {"", {}, "Whether there is a magnetic field; without it ax, ay, az are not computed."},
      MHD_MEMBER(physics.magnetic));
  add("viscosity_kind",
      {"", {}, "\"nu-const\": constant kinematic viscosity nu; \"rho-nu-const\": constant dynamic viscosity mu."},
      MHD_MEMBER(physics.viscosity_kind));
  add("viscosity", {"length^2/time (nu) or mass/(length time) (mu)", at_least(0), "Viscosity nu or mu."},
      MHD_MEMBER(physics.viscosity));
  add("bulk_viscosity", {"length^2/time", at_least(0), "Kinematic bulk viscosity zeta."},
      MHD_MEMBER(physics.bulk_viscosity));
  add("resistivity", {"length^2/time", at_least(0), "Magnetic diffusivity eta."}, MHD_MEMBER(physics.resistivity));
  add("conduction_kind",
      {"", {}, "\"K-const\": constant heat conductivity K; \"chi-const\": constant thermal diffusivity chi."},
      MHD_MEMBER(physics.conduction_kind));
  add("conduction",
      {"energy/(length time temperature) (K) or length^2/time (chi)", at_least(0),
       "Heat conductivity K or thermal diffusivity chi."},
      MHD_MEMBER(physics.conduction));
  add("gamma", {"1", positive(), "Ratio of specific heats; > 1 for an ideal gas."}, MHD_MEMBER(physics.gamma));
  add("cp", {"energy/(mass temperature)", positive(), "Specific heat at constant pressure."}, MHD_MEMBER(physics.cp));
  add("mu0", {"magnetic field^2/pressure", positive(), "Magnetic permeability of the vacuum."},
      MHD_MEMBER(physics.mu0));
  add("reference_density", {"mass/length^3", positive(), "rho0, at which sound_speed holds."},
      MHD_MEMBER(physics.reference_density));
  add("sound_speed", {"velocity", positive(), "cs0, the speed of sound at rho0 and ss = 0."},
      MHD_MEMBER(physics.sound_speed));
  add("external_field", {"magnetic field", {}, "Uniform imposed field B_ext, added to curl A."},
      MHD_MEMBER(physics.external_field));
}

void add_initial(std::vector<ConfigKey>& keys) {
  const auto add = [&](const char* name, About about, auto member) {
    keys.push_back(entry<Config>(std::string("initial.") + name, std::move(about), member));
  };
  add("kind", {"", {}, "The initial condition, see above."}, MHD_MEMBER(initial.kind));
  add("amplitude", {"of the kind", {}, "Amplitude of the wave, flow or field."}, MHD_MEMBER(initial.amplitude));
  add("wave", {"1", between(1, most_waves), "Wave number per box length (beltrami, abc_flow)."},
      MHD_MEMBER(initial.wave));
  add("wave_vector", {"1", between(-most_waves, most_waves), "Wave numbers per box length (sound_wave, alfven_wave)."},
      MHD_MEMBER(initial.wave_vector));
  add("density", {"mass/length^3", positive(), "Background density.", "physics.reference_density"},
      MHD_MEMBER(initial.density));
  add("velocity", {"velocity", {}, "Uniform background velocity."}, MHD_MEMBER(initial.velocity));
  add("low", {"of the field", {}, "Lower end of the range of kind random."}, MHD_MEMBER(initial.low));
  add("high", {"of the field", {}, "Upper end of the range of kind random, itself not in it."},
      MHD_MEMBER(initial.high));
  add("seed", {"1", at_least(0), "Seed of kind random and of the noise; up to 2^63 - 1."}, MHD_MEMBER(initial.seed));
  add("file", {"", {}, "Snapshot file to start from (kind snapshot only)."}, MHD_MEMBER(initial.file));
  add("modes", {"", {}, "Waves added to the fields on top of the kind; see initial.modes below."},
      MHD_MEMBER(initial.modes));
  add("noise.fields", {"", {}, "Fields to which noise is added."}, MHD_MEMBER(initial.noise_fields));
  add("noise.amplitude",
      {"of the field", at_least(0), "The noise is uniform in [-amplitude, amplitude), one number per cell and field."},
      MHD_MEMBER(initial.noise_amplitude));
}

void add_output(std::vector<ConfigKey>& keys) {
  const auto add = [&](const char* name, About about, auto member, KeyChange change = KeyChange::running) {
    keys.push_back(entry<Config>(std::string("output.") + name, std::move(about), member, change));
  };
  add("directory", {"", {}, "Run directory; the option --output takes precedence."}, MHD_MEMBER(output.directory),
      KeyChange::restart);
  add("snapshot_every_steps", {"1", at_least(1), "Steps between snapshots.", "none by steps"},
      MHD_MEMBER(output.snapshot_every_steps));
  add("snapshot_every_time", {"time", positive(), "Time between snapshots.", "none by time"},
      MHD_MEMBER(output.snapshot_every_time));
  add("snapshot_at_start", {"", {}, "Whether the initial state is written."}, MHD_MEMBER(output.snapshot_at_start));
  add("snapshot_at_end", {"", {}, "Whether the final state is written."}, MHD_MEMBER(output.snapshot_at_end));
  add("snapshot_precision", {"", {}, "Type of the field values in snapshots."}, MHD_MEMBER(output.snapshot_precision));
  add("snapshot_compression",
      {"1", between(0, 9), "Lossless compression of snapshots by shuffle and deflate of this level; 0: none."},
      MHD_MEMBER(output.snapshot_compression));
  add("snapshot_fields", {"", {}, "Fields to write to snapshots; an empty list means all of the run."},
      MHD_MEMBER(output.snapshot_fields));
  add("series_every_steps",
      {"1", at_least(1), "Steps between rows of series.csv.", "10, unless series_every_time is given"},
      MHD_MEMBER(output.series_every_steps));
  add("series_every_time", {"time", positive(), "Time between rows of series.csv.", "by steps"},
      MHD_MEMBER(output.series_every_time));
  add("checkpoint_every_seconds",
      {"s", at_least(0), "Wall-clock time between checkpoints; 0: none by time. Runs that are shorter write none."},
      MHD_MEMBER(output.checkpoint_every_seconds));
  add("checkpoint_every_steps", {"1", at_least(1), "Steps between checkpoints.", "none by steps"},
      MHD_MEMBER(output.checkpoint_every_steps));
  add("checkpoint_at_end",
      {"", {}, "Whether a complete run leaves a checkpoint of its end, from which a later end can be reached."},
      MHD_MEMBER(output.checkpoint_at_end));
  add("checkpoints_kept", {"1", between(1, 1e6), "Newest checkpoints to keep; older ones are removed."},
      MHD_MEMBER(output.checkpoints_kept));
  add("overlap",
      {"",
       {},
       "Write snapshots and checkpoints while steps go on, from a copy of the fields in host memory.",
       "with GPUs only"},
      MHD_MEMBER(output.overlap), KeyChange::restart);
}

void add_run(std::vector<ConfigKey>& keys) {
  const auto add = [&](const char* name, About about, auto member, KeyChange change = KeyChange::running) {
    keys.push_back(entry<Config>(std::string("run.") + name, std::move(about), member, change));
  };
  add("backend",
      {"", {}, "Where to compute; \"auto\" takes a GPU if there is one. The option --backend takes precedence."},
      MHD_MEMBER(run.backend), KeyChange::restart);
  add("report_seconds", {"s", positive(), "Wall-clock time between progress lines."}, MHD_MEMBER(run.report_seconds));
  add("check_interval", {"1", between(1, 1e9), "Steps between checks for values that are not finite."},
      MHD_MEMBER(run.check_interval));
  add("stall_timeout",
      {"s", at_least(0),
       "Wall-clock time without any progress after which the run is ended with a message: a rank is lost, or something "
       "hangs. Longer than the longest output takes; 0: wait for ever."},
      MHD_MEMBER(run.stall_timeout), KeyChange::restart);
  add("exchange_corners", {"", {}, "Also send the corners of the halo, which no stencil reads; for measurements."},
      MHD_MEMBER(run.exchange_corners), KeyChange::restart);
  add("oversubscribe", {"", {}, "Several ranks may share a GPU: slow, for tests."}, MHD_MEMBER(run.oversubscribe),
      KeyChange::restart);
  add("transport",
      {"",
       {},
       "How halos travel between GPUs: \"cuda_aware\" gives MPI device memory, \"host_staged\" pinned host memory; "
       "\"peer\" writes into the neighbour's device memory by CUDA IPC within a node, and does as auto between nodes; "
       "\"mixed\" gives MPI device memory for short messages and pinned host memory for long ones. \"auto\" takes "
       "cuda_aware where MPI says that it takes device memory, else peer, each if a trial agrees; else host_staged."},
      MHD_MEMBER(run.transport), KeyChange::restart);
  add("rdma_threshold",
      {"B", at_least(0), "Length of the longest message that run.transport = \"mixed\" sends from device memory."},
      MHD_MEMBER(run.rdma_threshold), KeyChange::restart);
  add("overlap", {"", {}, "Compute inner cells while halos travel between GPUs; off for measurements."},
      MHD_MEMBER(run.overlap), KeyChange::restart);
}

}  // namespace

std::string config_table(const std::string& name) { return name.substr(0, name.rfind('.')); }
std::string config_leaf(const std::string& name) { return name.substr(name.rfind('.') + 1); }

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> all;
    for (const auto add : {add_grid, add_time, add_physics, add_initial, add_output, add_run}) add(all);
    return all;
  }();
  return keys;
}

const std::vector<ConfigEntry<Mode>>& mode_keys() {
  static const std::vector<ConfigEntry<Mode>> keys = {
      entry<Mode>("field", {"", {}, "Field to add to.", "", true}, MHD_MEMBER(field)),
      entry<Mode>("amplitude", {"of the field", {}, "Amplitude.", "", true}, MHD_MEMBER(amplitude)),
      entry<Mode>("factors", {"", {}, "Factors of the product; none: a constant."}, MHD_MEMBER(factors)),
  };
  return keys;
}

const std::vector<ConfigEntry<WaveFactor>>& wave_factor_keys() {
  static const std::vector<ConfigEntry<WaveFactor>> keys = {
      function_entry(),
      entry<WaveFactor>("wave", {"1", between(-most_waves, most_waves), "Wave numbers per box length.", "", true},
                        MHD_MEMBER(wave)),
      entry<WaveFactor>("phase", {"rad", {}, "Added to the argument."}, MHD_MEMBER(phase)),
  };
  return keys;
}

}  // namespace mhd
