#include "app/check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/outputs.hpp"
#include "core/decomposition.hpp"
#include "core/solver_cpu.hpp"
#include "io/config_file.hpp"
#include "io/snapshot.hpp"

namespace mhd {
namespace {

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 5) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, units[unit]);
}

/// Steps of the run, where the configuration determines them.
std::optional<double> steps_of(const TimeConfig& t) {
  std::optional<double> steps;
  if (t.dt && t.end) steps = std::ceil(*t.end / *t.dt - 1e-9);
  if (t.max_steps) steps = std::min(steps.value_or(HUGE_VAL), static_cast<double>(*t.max_steps));
  if (!t.dt && t.end) return std::nullopt;  // the end may come first
  return steps;
}

/// How often a cadence falls into the run, both ends included; nothing where that depends on the solution.
std::optional<double> count_of(const Cadence& c, const TimeConfig& t) {
  const std::optional<double> steps = steps_of(t);
  if (c.steps) return steps ? std::optional(std::floor(*steps / static_cast<double>(*c.steps)) + 1) : std::nullopt;
  if (!c.interval) return 0;
  if (!t.end || t.max_steps) return std::nullopt;
  return std::floor(*t.end / *c.interval + 1e-9) + 1;
}

std::string cadence_text(const Cadence& c) {
  if (c.steps) return fmt::format("every {} steps", *c.steps);
  if (c.interval) return fmt::format("every {} of time", *c.interval);
  return "only";
}

std::string decomposition_text(const Config& config, const Decomposition& d) {
  const Grid grid(config.grid);
  const FieldSet fields = config.physics.fields();
  std::int64_t smallest = d.box(0).volume(), largest = smallest, halo = 0, sent = 0;
  std::size_t memory = 0;
  for (int rank = 0; rank < d.ranks(); ++rank) {
    const Box box = d.box(rank);
    smallest = std::min(smallest, box.volume());
    largest = std::max(largest, box.volume());
    memory = std::max(memory, CpuSolver::memory_bytes(grid, box.size(), fields));
    const std::int64_t cells = d.halo_cells(rank, config.run.exchange_corners);
    halo = std::max(halo, cells);
    sent += cells;
  }
  const double cell_bytes = 8.0 * fields.count();
  return fmt::format(
      "decomposition\n"
      "  ranks                  {}\n"
      "  subdomains             {}\n"
      "  cells per rank         {} to {}\n"
      "  memory per rank        {} of fields (two sets of {}, with halos)\n"
      "  halo per substep       {} received by the busiest rank, {} by all\n",
      d.ranks(), to_string(d.subdomains()), smallest, largest, bytes_text(static_cast<double>(memory)), fields.count(),
      bytes_text(static_cast<double>(halo) * cell_bytes), bytes_text(static_cast<double>(sent) * cell_bytes));
}

std::string output_text(const Config& config) {
  const OutputConfig& o = config.output;
  const std::vector<Field> fields = snapshot_fields(config);
  const auto size =
      static_cast<double>(snapshot_bytes(Grid(config.grid), static_cast<int>(fields.size()), o.snapshot_precision));
  const Cadence snapshots = snapshot_cadence(o);
  std::optional<double> count;
  bool start_or_end_only = !snapshots.steps && !snapshots.interval;
  if (start_or_end_only) {
    count = (o.snapshot_at_start ? 1 : 0) + (o.snapshot_at_end ? 1 : 0);
  } else if ((count = count_of(snapshots, config.time))) {
    if (!o.snapshot_at_start) *count -= 1;
    const std::optional<double> steps = steps_of(config.time);
    const bool on_end = snapshots.steps ? steps && std::fmod(*steps, static_cast<double>(*snapshots.steps)) == 0
                                        : snapshots.due(1, *config.time.end);
    if (o.snapshot_at_end && !on_end) *count += 1;
  }
  std::string text = fmt::format("output into {}\n", o.directory);
  std::string names;
  for (const Field f : fields) names += (names.empty() ? "" : " ") + std::string(name(f));
  text += fmt::format("  snapshots              {} ({}, {})\n",
                      start_or_end_only ? "at start and end only, as set" : cadence_text(snapshots), names,
                      o.snapshot_precision == Precision::float64 ? "float64" : "float32");
  text += count ? fmt::format("  snapshot files         {:.0f} of {}, {} in all\n", *count, bytes_text(size),
                              bytes_text(*count * size))
                : fmt::format("  snapshot files         of {} each; their number depends on the time step\n",
                              bytes_text(size));
  const Cadence series = series_cadence(o);
  const std::optional<double> rows = count_of(series, config.time);
  text += fmt::format("  series.csv             {}{}\n", cadence_text(series),
                      rows ? fmt::format(", about {:.0f} rows", *rows) : "");
  text += "  timing.csv             one row per step\n";
  text += "  config.toml, summary.toml, snapshots.xdmf\n";
  return text;
}

}  // namespace

std::string check_text(const Config& config, int ranks) {
  const Decomposition decomposition(Grid(config.grid), ranks, config.grid.decomposition);
  return "# resolved configuration\n" + to_toml(config) + "\n" + decomposition_text(config, decomposition) + "\n" +
         output_text(config);
}

}  // namespace mhd
