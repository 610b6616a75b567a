#pragma once
// The run configuration as plain structs. Defaults here are the defaults of the configuration file; the names, units
// and ranges of the keys are in io/config_schema.cpp, from which docs/configuration.md is generated. Units are those of
// the user: every quantity is in one consistent system (mu0 is a parameter).

#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "core/box.hpp"
#include "core/fields.hpp"

namespace mhd {

struct GridConfig {
  Int3 cells{64, 64, 64};  ///< cells per direction; 1 makes a direction inactive
  Real3 size{2 * std::numbers::pi, 2 * std::numbers::pi, 2 * std::numbers::pi};  ///< box lengths
  Real3 origin{-std::numbers::pi, -std::numbers::pi, -std::numbers::pi};         ///< lower corner x0 of the box
  int order = 6;                      ///< order of the finite differences: 2, 4, 6, 8
  std::optional<Int3> decomposition;  ///< subdomains per direction; absent: least communication
};

struct TimeConfig {
  std::optional<double> end;              ///< stop at this time
  std::optional<std::int64_t> max_steps;  ///< stop after this many steps
  std::optional<double> dt;               ///< fixed step; absent: Courant condition
  double courant_advective = 0.9;         ///< c_adv of the Courant condition
  double courant_diffusive = 0.25;        ///< c_diff
  int courant_interval = 1;               ///< steps between evaluations of the Courant condition
  double min_dt = 0;                      ///< a Courant step below this ends the run as a numerical failure
};

enum class EquationOfState { isothermal, ideal_gas };
enum class ViscosityKind { nu_const, rho_nu_const };
enum class ConductionKind { k_const, chi_const };

struct PhysicsConfig {
  EquationOfState equation_of_state = EquationOfState::ideal_gas;
  bool magnetic = true;
  ViscosityKind viscosity_kind = ViscosityKind::nu_const;
  double viscosity = 0;       ///< nu (nu-const, kinematic) or mu = rho nu (rho-nu-const, dynamic)
  double bulk_viscosity = 0;  ///< zeta, kinematic
  double resistivity = 0;     ///< eta, magnetic diffusivity
  ConductionKind conduction_kind = ConductionKind::k_const;
  double conduction = 0;  ///< K (K-const, heat conductivity) or chi (chi-const, thermal diffusivity)
  double gamma = 5.0 / 3.0;
  double cp = 1;
  double mu0 = 1;
  double reference_density = 1;  ///< rho0
  double sound_speed = 1;        ///< cs0, at rho0 and ss = 0
  Real3 external_field{};        ///< uniform imposed magnetic field B_ext

  FieldSet fields() const { return {magnetic, equation_of_state == EquationOfState::ideal_gas}; }
};

/// One factor sin or cos( 2 pi n.(x - origin)/L + phase ) with integer wave numbers n per box length.
struct WaveFactor {
  bool cosine = false;
  Int3 wave{};
  double phase = 0;
};

/// field += amplitude * product of factors (no factors: a constant)
struct Mode {
  Field field = Field::lnrho;
  double amplitude = 0;
  std::vector<WaveFactor> factors;
};

enum class InitialKind {
  uniform,
  random,
  sound_wave,
  alfven_wave,
  beltrami,
  abc_flow,
  orszag_tang,
  taylor_green,
  snapshot
};

struct InitialConfig {
  InitialKind kind = InitialKind::uniform;
  double amplitude = 0.1;           ///< of the wave, flow or field of the chosen kind
  int wave = 1;                     ///< wave number per box length (beltrami, abc_flow)
  Int3 wave_vector{1, 0, 0};        ///< wave numbers per box length (sound_wave, alfven_wave)
  std::optional<double> density;    ///< background density; absent: physics.reference_density
  Real3 velocity{};                 ///< uniform background velocity
  double low = 0, high = 1;         ///< range of kind random
  std::uint64_t seed = 1;           ///< of kind random and of the noise
  std::string file;                 ///< of kind snapshot
  std::vector<Mode> modes;          ///< added on top of every kind
  std::vector<Field> noise_fields;  ///< uniform noise in [-noise_amplitude, noise_amplitude) is added to these
  double noise_amplitude = 0;
};

enum class Precision { float32, float64 };

struct OutputConfig {
  std::string directory;  ///< run directory; --output overrides
  std::optional<std::int64_t> snapshot_every_steps;
  std::optional<double> snapshot_every_time;
  bool snapshot_at_start = true;
  bool snapshot_at_end = true;
  Precision snapshot_precision = Precision::float64;
  int snapshot_compression = 0;                    ///< level of deflate, 0: none
  std::vector<Field> snapshot_fields;              ///< empty: all fields of the run
  std::optional<std::int64_t> series_every_steps;  ///< absent with series_every_time absent: 10
  std::optional<double> series_every_time;
  double checkpoint_every_seconds = 3600;              ///< wall-clock time between checkpoints; 0: none by time
  std::optional<std::int64_t> checkpoint_every_steps;  ///< absent: none by steps
  bool checkpoint_at_end = false;                      ///< also when the run is complete
  int checkpoints_kept = 2;                            ///< older ones are removed
  std::optional<bool> overlap;                         ///< write while steps go on; absent: with GPUs only
};

enum class Backend { automatic, cpu, gpu };

/// How halos travel between GPUs.
enum class TransportChoice {
  automatic,    ///< the first of cuda_aware, peer, host_staged that works
  cuda_aware,   ///< from device memory, tried whatever MPI says of itself
  host_staged,  ///< through pinned host memory
  peer,         ///< straight into the memory of the neighbour's device within a node, by MPI between nodes
  mixed,        ///< short messages from device memory, long ones through pinned host memory
};

struct RunConfig {
  Backend backend = Backend::automatic;
  double report_seconds = 2;      ///< wall-clock seconds between progress lines
  int check_interval = 10;        ///< steps between checks for non-finite values
  double stall_timeout = 1800;    ///< wall-clock seconds without progress after which the run is ended; 0: never
  bool exchange_corners = false;  ///< also send the halo corners, which the stencils do not read
  bool oversubscribe = false;     ///< several ranks may share a GPU
  TransportChoice transport = TransportChoice::automatic;
  std::int64_t rdma_threshold = 32768;  ///< bytes of the longest message that mixed sends from device memory
  bool require_cuda_aware = false;      ///< no key: with automatic, host memory is an error
  bool overlap = true;                  ///< compute inner cells while halos travel between GPUs
};

struct Config {
  GridConfig grid;
  TimeConfig time;
  PhysicsConfig physics;
  InitialConfig initial;
  OutputConfig output;
  RunConfig run;
};

/// A rule that the configuration breaks: which key (dotted, e.g. "grid.cells") and what is wrong.
struct Violation {
  std::string key;
  std::string message;
};

/// Rules across keys that no single key's range can state (core/validate.cpp). Empty: the configuration is consistent.
std::vector<Violation> validate(const Config& config);

}  // namespace mhd
