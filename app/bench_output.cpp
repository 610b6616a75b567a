#include "app/bench_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numbers>
#include <vector>

#include "app/bench.hpp"
#include "app/report.hpp"
#include "app/version.hpp"
#include "core/decomposition.hpp"
#include "core/error.hpp"
#include "core/state.hpp"
#include "core/statistics.hpp"
#include "io/agree.hpp"
#include "io/checkpoint.hpp"
#include "io/config_file.hpp"
#include "io/file.hpp"
#include "io/output_file.hpp"

namespace mhd {
namespace {

/// Smooth waves, three for each field: bits of all places of the mantissa, as in a resolved flow.
void fill(HostState& state, const Grid& grid, const Box& box) {
  std::vector<double> values(static_cast<std::size_t>(box.volume()));
  for (int slot = 0; slot < state.fields(); ++slot) {
    const auto table = [&](int axis, int wave) {
      std::vector<double> t;
      for (int i = box.lower[axis]; i < box.upper[axis]; ++i)
        t.push_back(std::sin(2 * std::numbers::pi * wave * (i + 0.5) / grid.cells[axis] + slot + wave));
      return t;
    };
    std::fill(values.begin(), values.end(), 0.0);
    for (const int wave : {1, 2, 5}) {
      const std::vector<double> x = table(0, wave), y = table(1, wave), z = table(2, wave);
      std::size_t cell = 0;
      for (const double sz : z)
        for (const double sy : y)
          for (const double sx : x) values[cell++] += sx * sy * sz / wave;
    }
    state.set_interior(slot, values);
  }
}

constexpr const char* compressed = "compressed";

/// What is measured: seconds of the slowest rank in each round, and the size of the file.
struct Kind {
  std::string name, label;
  std::function<void(const std::string& path)> write;
  std::vector<double> seconds{};
  std::int64_t file_size = 0;
};

class OutputBenchmark {
 public:
  OutputBenchmark(const BenchOutputOptions& options, const Config& config, const Comm& comm)
      : options_(options),
        config_(config),
        comm_(comm),
        grid_(config.grid),
        set_(config.physics.fields()),
        decomposition_(grid_, comm.size(), config.grid.decomposition),
        box_(decomposition_.box(comm.rank())),
        state_(HostLayout(grid_, box_.size()), set_.count()),
        path_((std::filesystem::path(options.directory) / "bench_output.tmp").string()) {
    fill(state_, grid_, box_);
    for (int slot = 0; slot < set_.count(); ++slot) fields_.push_back(set_.field(slot));
    header_.grid = grid_;
    header_.precision = options.precision;
    header_.config = to_toml(config);
    header_.build = build_info();
    kinds_ = {{"plain", "plain parallel write", [this](const std::string& path) { write_plain(path); }},
              {"snapshot", "snapshot", [this](const std::string& path) { write_fields(path, 0); }},
              {"checkpoint", "checkpoint, float64",
               [this](const std::string& path) { write_checkpoint(path, header_, {}, set_, source(), box_, comm_); }}};
    if (options.compression > 0)
      kinds_.push_back({compressed, fmt::format("snapshot, deflate {}", options.compression),
                        [this](const std::string& path) { write_fields(path, options_.compression); }});
  }

  /// In turn, so that what else the machine does meets all alike; the slow compressed ones apart, since memory that has
  /// rested is slower at first, which would meet what comes next.
  void measure() {
    try {
      Kind warm_up = kinds_[0];
      measure(warm_up);
      for (std::int64_t round = 0; round < options_.rounds; ++round)
        for (Kind& kind : kinds_)
          if (kind.name != compressed) measure(kind);
      for (std::int64_t round = 0; round < options_.rounds; ++round)
        if (options_.compression > 0) measure(kinds_.back());
    } catch (...) {
      std::error_code ignored;
      if (comm_.root()) std::filesystem::remove(path_, ignored);
      throw;
    }
  }

  std::string text() const {
    std::string text = fmt::format(
        "bench output: {} cells, {} fields of {}, {} ranks ({}), into {}\n"
        "  {} round(s), compressed ones last; medians of the slowest rank, with fsync; GB/s of field values\n"
        "  {:<22} {:>14} {:>10} {:>10} {:>10} {:>8} {:>9}\n",
        to_string(grid_.cells), set_.count(), options_.precision == Precision::float32 ? "float32" : "float64",
        comm_.size(), to_string(decomposition_.subdomains()), options_.directory, options_.rounds, "", "file bytes",
        "seconds", "least", "most", "GB/s", "of plain");
    for (const Kind& kind : kinds_)
      text += fmt::format("  {:<22} {:>14} {:>10.4g} {:>10.4g} {:>10.4g} {:>8.3f} {:>7.0f} %\n", kind.label,
                          kind.file_size, median(kind.seconds), percentile(kind.seconds, 0),
                          percentile(kind.seconds, 1), 1e-9 * rate(kind), 100 * of_plain(kind));
    if (options_.compression > 0)
      text += fmt::format("  compressed to {:.1f} % of {} bytes\n", 100 * ratio(), bytes_of(kinds_.back()));
    return text;
  }

  std::string json() const {
    const BuildInfo build = build_info();
    std::string text = fmt::format(
        "{{\n  \"benchmark\": \"output\",\n  \"cells\": [{}, {}, {}],\n  \"fields\": {},\n  \"precision\": \"{}\",\n"
        "  \"ranks\": {},\n  \"subdomains\": [{}, {}, {}],\n  \"rounds\": {},\n  \"compression\": {},\n",
        grid_.cells.x, grid_.cells.y, grid_.cells.z, set_.count(),
        options_.precision == Precision::float32 ? "float32" : "float64", comm_.size(), decomposition_.subdomains().x,
        decomposition_.subdomains().y, decomposition_.subdomains().z, options_.rounds, options_.compression);
    for (const Kind& kind : kinds_)
      text += fmt::format(
          "  \"{0}_file_bytes\": {1},\n  \"{0}_seconds_median\": {2},\n  \"{0}_bytes_per_second\": {3},\n"
          "  \"{0}_of_plain\": {4},\n",
          kind.name, kind.file_size, median(kind.seconds), rate(kind), of_plain(kind));
    return text + fmt::format("  \"version\": \"{}\",\n  \"revision\": \"{}\"\n}}\n", build.version, build.revision);
  }

 private:
  FieldSource source() {
    return [this](Field field) { return state_.view(set_.slot(field)); };
  }

  void write_fields(const std::string& path, int compression) {
    header_.compression = compression;
    write_snapshot(path, header_, fields_, source(), box_, comm_);
    header_.compression = 0;
  }

  /// As many bytes as the fields of a snapshot have, from the same memory, each rank in one piece.
  void write_plain(const std::string& path) {
    const std::int64_t field = box_.volume() * (options_.precision == Precision::float32 ? 4 : 8);
    std::int64_t before = 0;
    for (int rank = 0; rank < comm_.rank(); ++rank) before += decomposition_.box(rank).volume();
    before *= field / box_.volume() * set_.count();
    std::optional<OutputFile> file;
    agree(comm_, [&] {
      if (!comm_.root()) return;
      file.emplace(path, OutputFile::Start::anew);
      file->reserve(decomposition_.grid().cells.product() * (field / box_.volume()) * set_.count());
    });
    agree(comm_, [&] {
      if (!file) file.emplace(path, OutputFile::Start::existing);
      for (int slot = 0; slot < set_.count(); ++slot) file->write(state_.cell(slot), field, before + slot * field);
      file->sync();
      file->close();
    });
  }

  void measure(Kind& kind) {
    comm_.barrier();
    const auto start = std::chrono::steady_clock::now();
    kind.write(path_);
    comm_.barrier();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    kind.seconds.push_back(comm_.maximum(taken.count()));
    agree(comm_, [&] {
      if (!comm_.root()) return;
      kind.file_size = file_bytes(path_);
      std::filesystem::remove(path_);
    });
  }

  std::int64_t bytes_of(const Kind& kind) const {
    return snapshot_bytes(grid_, set_.count(), kind.name == "checkpoint" ? Precision::float64 : options_.precision);
  }
  double rate(const Kind& kind) const { return static_cast<double>(bytes_of(kind)) / median(kind.seconds); }
  /// Bandwidth against the plain write of the same round, its median.
  double of_plain(const Kind& kind) const {
    std::vector<double> ratios;
    const double bytes = static_cast<double>(bytes_of(kind)) / static_cast<double>(bytes_of(kinds_[0]));
    for (std::size_t i = 0; i < kind.seconds.size(); ++i)
      ratios.push_back(bytes * kinds_[0].seconds[i] / kind.seconds[i]);
    return median(ratios);
  }
  double ratio() const {
    return static_cast<double>(kinds_.back().file_size) / static_cast<double>(bytes_of(kinds_.back()));
  }

  const BenchOutputOptions& options_;
  const Config& config_;
  const Comm& comm_;
  Grid grid_;
  FieldSet set_;
  Decomposition decomposition_;
  Box box_;
  HostState state_;
  std::string path_;
  std::vector<Field> fields_;
  SnapshotHeader header_;
  std::vector<Kind> kinds_;
};

}  // namespace

int bench_output(const BenchOutputOptions& options, const Comm& comm) {
  BenchOptions grid;
  grid.cells = options.cells;
  grid.physics = options.physics;
  grid.decomposition = options.decomposition;
  const Config config = benchmark_config(grid);
  const std::vector<Violation> wrong = validate(config);
  if (!wrong.empty())
    throw Error(ExitCode::usage, fmt::format("bench output: {}: {}", wrong[0].key, wrong[0].message),
                ErrorScope::everywhere);
  OutputBenchmark benchmark(options, config, comm);
  benchmark.measure();
  agree(comm, [&] {
    if (!comm.root()) return;
    print_result(benchmark.text());
    if (!options.json.empty()) write_file_atomically(options.json, benchmark.json());
  });
  return static_cast<int>(ExitCode::complete);
}

}  // namespace mhd
