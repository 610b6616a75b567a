// The analytic initial conditions, each written as a superposition of products of sines and cosines. X, Y, Z stand for
// 2 pi (x - origin)/L along each axis.

#include <array>
#include <cmath>
#include <numbers>

#include "core/error.hpp"
#include "core/initial.hpp"

namespace mhd {

namespace {

constexpr std::array<Field, 3> velocity = {Field::ux, Field::uy, Field::uz};
constexpr std::array<Field, 3> potential = {Field::ax, Field::ay, Field::az};

WaveFactor sine(Int3 n) { return {false, n, 0}; }
WaveFactor cosine(Int3 n) { return {true, n, 0}; }

constexpr Int3 along_x(int n = 1) { return {n, 0, 0}; }
constexpr Int3 along_y(int n = 1) { return {0, n, 0}; }
constexpr Int3 along_z(int n = 1) { return {0, 0, n}; }

double dot(Real3 a, Real3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
double length(Real3 a) { return std::sqrt(dot(a, a)); }
Real3 scaled(Real3 a, double s) { return {a.x * s, a.y * s, a.z * s}; }
Real3 cross(Real3 a, Real3 b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }

double background_density(const Config& c) { return c.initial.density.value_or(c.physics.reference_density); }

/// 2 pi n/L along an axis.
double wave_number(const Config& c, int axis, int n = 1) { return 2 * std::numbers::pi * n / c.grid.size[axis]; }

Real3 wave_vector(const Config& c) {
  const Int3 n = c.initial.wave_vector;
  if (n == Int3{})
    throw Error(ExitCode::configuration, "initial.wave_vector = 0 x 0 x 0: a wave needs a direction",
                ErrorScope::everywhere);
  return {wave_number(c, 0, n.x), wave_number(c, 1, n.y), wave_number(c, 2, n.z)};
}

/// Sound speed of the uniform background (ss = 0).
double background_sound_speed(const Config& c) {
  if (c.physics.equation_of_state == EquationOfState::isothermal) return c.physics.sound_speed;
  return c.physics.sound_speed *
         std::pow(background_density(c) / c.physics.reference_density, 0.5 * (c.physics.gamma - 1));
}

/// Linear wave travelling along +k: u = amplitude cs khat sin(phi), lnrho - background = amplitude sin(phi).
void add_sound_wave(const Config& c, std::vector<Mode>& modes) {
  const Real3 k = wave_vector(c);
  const Real3 direction = scaled(k, 1 / length(k));
  const WaveFactor wave = sine(c.initial.wave_vector);
  modes.push_back({Field::lnrho, c.initial.amplitude, {wave}});
  for (int axis = 0; axis < 3; ++axis)
    modes.push_back({velocity[axis], c.initial.amplitude * background_sound_speed(c) * direction[axis], {wave}});
}

/// Circularly polarised Alfven wave travelling along +k on the external field B0 (an exact nonlinear solution):
///   v = e1 cos(phi) + e2 sin(phi), e1 x e2 = khat, hence curl v = -|k| v
///   A = -(b/|k|) v, hence curl A = b v with b = amplitude |B0.khat|
///   u = -sign(B0.khat) b/sqrt(mu0 rho) v
/// e1 is perpendicular to the axis that khat is least aligned with (the first of equals).
void add_alfven_wave(const Config& c, std::vector<Mode>& modes) {
  const Real3 k = wave_vector(c);
  const Real3 direction = scaled(k, 1 / length(k));
  int least = 0;
  for (int axis = 1; axis < 3; ++axis)
    if (std::abs(direction[axis]) < std::abs(direction[least])) least = axis;
  Real3 unit;
  unit[least] = 1;
  const Real3 perpendicular = cross(direction, unit);
  const Real3 e1 = scaled(perpendicular, 1 / length(perpendicular));
  const Real3 e2 = cross(direction, e1);
  const double along = dot(c.physics.external_field, direction);
  if (along == 0)
    throw Error(ExitCode::configuration,
                "physics.external_field has no component along initial.wave_vector: an Alfven wave needs one",
                ErrorScope::everywhere);
  const double b = c.initial.amplitude * std::abs(along);
  const double a_amplitude = -b / length(k);
  const double u_amplitude = std::copysign(b / std::sqrt(c.physics.mu0 * background_density(c)), -along);
  for (int axis = 0; axis < 3; ++axis) {
    const WaveFactor cos_phi = cosine(c.initial.wave_vector), sin_phi = sine(c.initial.wave_vector);
    modes.push_back({velocity[axis], u_amplitude * e1[axis], {cos_phi}});
    modes.push_back({velocity[axis], u_amplitude * e2[axis], {sin_phi}});
    modes.push_back({potential[axis], a_amplitude * e1[axis], {cos_phi}});
    modes.push_back({potential[axis], a_amplitude * e2[axis], {sin_phi}});
  }
}

/// amplitude (sin kz + cos ky, sin kx + cos kz, sin ky + cos kx): an eigenfunction of the curl, eigenvalue k, in cubic
/// boxes.
void add_abc(const Config& c, const std::array<Field, 3>& vector, std::vector<Mode>& modes) {
  const double amplitude = c.initial.amplitude;
  const Int3 x = along_x(c.initial.wave), y = along_y(c.initial.wave), z = along_z(c.initial.wave);
  modes.push_back({vector[0], amplitude, {sine(z)}});
  modes.push_back({vector[0], amplitude, {cosine(y)}});
  modes.push_back({vector[1], amplitude, {sine(x)}});
  modes.push_back({vector[1], amplitude, {cosine(z)}});
  modes.push_back({vector[2], amplitude, {sine(y)}});
  modes.push_back({vector[2], amplitude, {cosine(x)}});
}

/// Orszag & Tang (1979): u = amplitude (-sin Y, sin X, 0), B = amplitude (-sin Y, sin 2X, 0), from
/// Az = amplitude (cos Y/ky + cos 2X/(2 kx)).
void add_orszag_tang(const Config& c, std::vector<Mode>& modes) {
  const double amplitude = c.initial.amplitude;
  modes.push_back({Field::ux, -amplitude, {sine(along_y())}});
  modes.push_back({Field::uy, amplitude, {sine(along_x())}});
  modes.push_back({Field::az, amplitude / wave_number(c, 1), {cosine(along_y())}});
  modes.push_back({Field::az, 0.5 * amplitude / wave_number(c, 0), {cosine(along_x(2))}});
}

/// Taylor-Green flow with the insulating field of Lee et al. (2010), b0 = amplitude/sqrt(3). In a cubic box
///   u = amplitude (sin X cos Y cos Z, -cos X sin Y cos Z, 0)
///   B = b0 (cos X sin Y sin Z, sin X cos Y sin Z, -2 sin X sin Y cos Z) = curl (b0/k)(-sin X cos Y cos Z,
///       cos X sin Y cos Z, 0);
/// in others uy has the factor kx/ky, which keeps the flow free of divergence, and k is kz.
void add_taylor_green(const Config& c, std::vector<Mode>& modes) {
  const double amplitude = c.initial.amplitude;
  const double a_amplitude = amplitude / std::numbers::sqrt3 / wave_number(c, 2);
  const std::vector<WaveFactor> sin_x = {sine(along_x()), cosine(along_y()), cosine(along_z())};
  const std::vector<WaveFactor> sin_y = {cosine(along_x()), sine(along_y()), cosine(along_z())};
  modes.push_back({Field::ux, amplitude, sin_x});
  modes.push_back({Field::uy, -amplitude * (wave_number(c, 0) / wave_number(c, 1)), sin_y});
  modes.push_back({Field::ax, -a_amplitude, sin_x});
  modes.push_back({Field::ay, a_amplitude, sin_y});
}

}  // namespace

std::vector<Mode> kind_modes(const Config& config) {
  const InitialKind kind = config.initial.kind;
  std::vector<Mode> modes;
  if (kind == InitialKind::random || kind == InitialKind::snapshot) return modes;
  modes.push_back({Field::lnrho, std::log(background_density(config)), {}});
  for (int axis = 0; axis < 3; ++axis) modes.push_back({velocity[axis], config.initial.velocity[axis], {}});
  switch (kind) {
    case InitialKind::sound_wave:
      add_sound_wave(config, modes);
      break;
    case InitialKind::alfven_wave:
      add_alfven_wave(config, modes);
      break;
    case InitialKind::beltrami:
      add_abc(config, potential, modes);
      break;
    case InitialKind::abc_flow:
      add_abc(config, velocity, modes);
      break;
    case InitialKind::orszag_tang:
      add_orszag_tang(config, modes);
      break;
    case InitialKind::taylor_green:
      add_taylor_green(config, modes);
      break;
    case InitialKind::uniform:
    case InitialKind::random:
    case InitialKind::snapshot:
      break;
  }
  return modes;
}

}  // namespace mhd
