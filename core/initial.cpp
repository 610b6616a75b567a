#include "core/initial.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"
#include "core/philox.hpp"
#include "core/plane_wave.hpp"

namespace mhd {

namespace {

/// Calls f(global cell, value in `out`) for all cells of the box.
template <typename F>
void for_each_cell(const Box& box, std::span<double> out, F&& f) {
  double* value = out.data();
  for (int k = box.lower.z; k < box.upper.z; ++k)
    for (int j = box.lower.y; j < box.upper.y; ++j)
      for (int i = box.lower.x; i < box.upper.x; ++i) f(Int3{i, j, k}, *value++);
}

void add_mode(const Mode& mode, const Grid& grid, const Box& box, std::span<double> out) {
  if (mode.amplitude == 0) return;
  std::vector<PlaneWave> waves;
  for (const WaveFactor& factor : mode.factors) waves.emplace_back(grid.cells, box, factor.wave, factor.phase);
  for_each_cell(box, out, [&](Int3 cell, double& value) {
    double product = mode.amplitude;
    for (std::size_t f = 0; f < waves.size(); ++f) {
      const Phasor wave = waves[f].at(cell.x, cell.y, cell.z);
      product *= mode.factors[f].cosine ? wave.cosine : wave.sine;
    }
    value += product;
  });
}

/// Uniform in [0, 1), a function of the seed, the purpose, the field and the global cell.
class CellRandom {
 public:
  CellRandom(std::uint64_t seed, RandomPurpose purpose, Field field, Int3 cells)
      : seed_(seed), purpose_(purpose), stream_(static_cast<std::uint32_t>(field)), cells_(cells) {}

  double operator()(Int3 c) const {
    const std::int64_t index = c.x + cells_.x * (c.y + std::int64_t{cells_.y} * c.z);
    return random_uniform(seed_, purpose_, stream_, static_cast<std::uint64_t>(index))[0];
  }

 private:
  std::uint64_t seed_;
  RandomPurpose purpose_;
  std::uint32_t stream_;
  Int3 cells_;
};

void fill_random(const InitialConfig& initial, const Grid& grid, const Box& box, Field field, std::span<double> out) {
  const CellRandom random(initial.seed, RandomPurpose::initial_random, field, grid.cells);
  // The rounded sum may reach `high`, which the range excludes.
  const double last = std::max(initial.low, std::nextafter(initial.high, initial.low));
  for_each_cell(box, out, [&](Int3 cell, double& value) {
    value = std::min(initial.low + (initial.high - initial.low) * random(cell), last);
  });
}

void add_noise(const InitialConfig& initial, const Grid& grid, const Box& box, Field field, std::span<double> out) {
  const CellRandom random(initial.seed, RandomPurpose::initial_noise, field, grid.cells);
  for_each_cell(box, out, [&](Int3 cell, double& value) { value += initial.noise_amplitude * (2 * random(cell) - 1); });
}

}  // namespace

void initial_field(const Config& config, const Grid& grid, const Box& box, Field field, std::span<double> out) {
  const InitialConfig& initial = config.initial;
  if (static_cast<std::int64_t>(out.size()) != box.volume())
    throw Error(ExitCode::internal, "initial_field: room for " + std::to_string(out.size()) +
                                        " values given for a box of " + to_string(box.size()) + " cells");
  if (initial.kind == InitialKind::random)
    fill_random(initial, grid, box, field, out);
  else if (initial.kind != InitialKind::snapshot)
    std::fill(out.begin(), out.end(), 0.0);
  const auto add_modes = [&](const std::vector<Mode>& modes) {
    for (const Mode& mode : modes)
      if (mode.field == field) add_mode(mode, grid, box, out);
  };
  add_modes(kind_modes(config));
  add_modes(initial.modes);
  if (std::count(initial.noise_fields.begin(), initial.noise_fields.end(), field) > 0)
    add_noise(initial, grid, box, field, out);
}

}  // namespace mhd
