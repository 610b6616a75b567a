#include "app/check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "app/bytes_text.hpp"
#include "app/exchange_text.hpp"
#include "app/outputs.hpp"
#include "core/decomposition.hpp"
#include "core/schedule.hpp"
#include "core/solver_cpu.hpp"
#include "io/config_file.hpp"
#include "io/snapshot.hpp"
#if MHD_HAVE_CUDA
#include "gpu/device.hpp"
#endif

namespace mhd {
namespace {

/// What the configuration alone determines; absent where that depends on the solution.
struct Plan {
  std::optional<double> steps, snapshots, rows;
};

constexpr double most_steps_counted = 1e7;  // a fraction of a second

/// Goes through the steps of a run with a fixed time step as the run itself will.
Plan plan_of_fixed_step(const Config& config) {
  const TimeConfig& time = config.time;
  const OutputConfig& o = config.output;
  const Cadence snapshots = snapshot_cadence(o), series = series_cadence(o);
  const double end = time.end.value_or(HUGE_VAL);
  const auto max_steps = time.max_steps.value_or(std::numeric_limits<std::int64_t>::max());
  std::int64_t step = 0, files = 0, rows = 0;
  double t = 0;
  const auto snapshot_due = [&] { return step == 0 ? o.snapshot_at_start : snapshots.due(step, t); };
  for (; t < end && step < max_steps; ++step) {
    if (static_cast<double>(step) >= most_steps_counted) return {};
    files += snapshot_due();
    rows += series.due(step, t);
    t = choose_step(t, *time.dt, std::min({end, snapshots.next_time(t), series.next_time(t)})).next_time;
  }
  files += o.snapshot_at_end || snapshot_due();
  return {static_cast<double>(step), static_cast<double>(files), static_cast<double>(rows + 1)};
}

/// With the Courant condition the steps are known where only their number ends the run, the times where only t does.
Plan plan_of(const Config& config) {
  const TimeConfig& time = config.time;
  const OutputConfig& o = config.output;
  if (time.dt) return plan_of_fixed_step(config);
  Plan plan;
  if (time.max_steps && !time.end) plan.steps = static_cast<double>(*time.max_steps);
  // Events of a cadence after the start and before the end, and whether the end is one as well.
  const auto between = [&](const Cadence& c) -> std::optional<std::pair<double, bool>> {
    const auto count = [](double whole, double part) {
      const double ratio = whole / part, nearest = std::round(ratio);
      const bool at_end = std::abs(ratio - nearest) <= 1e-9;
      return std::pair(std::max(0.0, at_end ? nearest - 1 : std::floor(ratio)), at_end);
    };
    if (c.steps) return plan.steps ? std::optional(count(*plan.steps, static_cast<double>(*c.steps))) : std::nullopt;
    if (c.interval) return time.end && !time.max_steps ? std::optional(count(*time.end, *c.interval)) : std::nullopt;
    return std::pair(0.0, false);
  };
  const bool no_step = time.max_steps == 0 || time.end == 0.0;
  if (const auto inner = between(series_cadence(o))) plan.rows = inner->first + (no_step ? 1 : 2);
  if (const auto inner = between(snapshot_cadence(o)))
    plan.snapshots = no_step ? double(o.snapshot_at_start || o.snapshot_at_end)
                             : inner->first + o.snapshot_at_start + (o.snapshot_at_end || inner->second);
  return plan;
}

std::string cadence_text(const Cadence& c) {
  if (c.steps) return fmt::format("every {} steps", *c.steps);
  return fmt::format("every {} of time", *c.interval);
}

std::string checkpoint_text(const OutputConfig& o) {
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  if (o.checkpoint_every_seconds > 0) add(fmt::format("every {} s of wall-clock time", o.checkpoint_every_seconds));
  if (o.checkpoint_every_steps) add(fmt::format("every {} steps", *o.checkpoint_every_steps));
  if (o.checkpoint_at_end) add("at the end");
  return text + (text.empty() ? "when stopped early" : ", when stopped early");
}

/// A line about the memory of the GPUs, if this build has that backend.
std::string device_memory_text([[maybe_unused]] const Config& config, [[maybe_unused]] const Decomposition& d) {
#if MHD_HAVE_CUDA
  std::size_t bytes = 0;
  for (int rank = 0; rank < d.ranks(); ++rank)
    bytes = std::max(bytes, gpu::device_bytes(d, rank, config.physics.fields(), config.run.exchange_corners));
  return fmt::format("  device memory per rank {} on the GPU backend\n", bytes_text(static_cast<double>(bytes)));
#else
  return "";
#endif
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
      "{}"
      "  halo per substep       {} received by the busiest rank, {} by all\n",
      d.ranks(), to_string(d.subdomains()), smallest, largest, bytes_text(static_cast<double>(memory)), fields.count(),
      device_memory_text(config, d), bytes_text(static_cast<double>(halo) * cell_bytes),
      bytes_text(static_cast<double>(sent) * cell_bytes));
}

std::string output_text(const Config& config) {
  const OutputConfig& o = config.output;
  const std::vector<Field> fields = snapshot_fields(config);
  const auto size =
      static_cast<double>(snapshot_bytes(Grid(config.grid), static_cast<int>(fields.size()), o.snapshot_precision));
  const Cadence snapshots = snapshot_cadence(o);
  const Plan plan = plan_of(config);
  std::string when = snapshots.steps || snapshots.interval ? cadence_text(snapshots) : "";
  for (const auto& [wanted, text] : {std::pair(o.snapshot_at_start, "at the start"), {o.snapshot_at_end, "at the end"}})
    if (wanted) when += (when.empty() ? "" : ", ") + std::string(text);
  if (when.empty()) when = "none";
  std::string text = fmt::format("output into {}\n", o.directory);
  std::string names;
  for (const Field f : fields) names += (names.empty() ? "" : " ") + std::string(name(f));
  const std::string compressed =
      o.snapshot_compression > 0 ? fmt::format(", deflate {}: sizes are upper bounds", o.snapshot_compression) : "";
  text += fmt::format("  snapshots              {} ({}, {}{})\n", when, names,
                      o.snapshot_precision == Precision::float64 ? "float64" : "float32", compressed);
  text += plan.snapshots ? fmt::format("  snapshot files         {:.0f} of {}, {} in all, plus a few KiB each\n",
                                       *plan.snapshots, bytes_text(size), bytes_text(*plan.snapshots * size))
                         : fmt::format("  snapshot files         of {} each; their number depends on the time step\n",
                                       bytes_text(size));
  text += fmt::format("  series.csv             {}{}\n", cadence_text(series_cadence(o)),
                      plan.rows ? fmt::format(", {:.0f} rows", *plan.rows) : "");
  text += fmt::format("  timing.csv             one row per step{}\n",
                      plan.steps ? fmt::format(", {:.0f} rows", *plan.steps) : "");
  const auto checkpoint =
      static_cast<double>(snapshot_bytes(Grid(config.grid), config.physics.fields().count(), Precision::float64));
  text += fmt::format("  checkpoints            {}; the newest {} are kept, {} each\n", checkpoint_text(o),
                      o.checkpoints_kept, bytes_text(checkpoint));
  text += "  config.toml, summary.toml, snapshots.xdmf\n";
  return text;
}

}  // namespace

std::string check_text(const Config& config, int ranks, bool verbose) {
  const Decomposition decomposition(Grid(config.grid), ranks, config.grid.decomposition);
  return "# resolved configuration\n" + to_toml(config) + "\n" + decomposition_text(config, decomposition) + "\n" +
         (verbose ? exchange_text(config, decomposition, 0) + "\n" : "") + output_text(config);
}

}  // namespace mhd
