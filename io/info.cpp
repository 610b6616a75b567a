#include "io/info.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "io/slabs.hpp"
#include "io/snapshot.hpp"

namespace mhd {
namespace {

constexpr std::int64_t slab_cells = std::int64_t{1} << 21;

struct Range {
  double minimum = std::numeric_limits<double>::infinity();
  double maximum = -std::numeric_limits<double>::infinity();
  std::int64_t nonfinite = 0;
};

Range range_of(const SnapshotFile& file, Field field) {
  Range range;
  std::vector<double> values;
  for (const Box& slab : slabs(file.info().grid.box(), slab_cells)) {
    values.resize(static_cast<std::size_t>(slab.volume()));
    file.read(field, slab, values);
    for (const double value : values) {
      if (!std::isfinite(value)) {
        ++range.nonfinite;
        continue;
      }
      range.minimum = std::min(range.minimum, value);
      range.maximum = std::max(range.maximum, value);
    }
  }
  return range;
}

std::string range_text(const Range& range) {
  std::string text = range.minimum <= range.maximum ? fmt::format("{:>22} {:>22}", range.minimum, range.maximum)
                                                    : fmt::format("{:>22} {:>22}", "-", "-");
  if (range.nonfinite > 0) text += fmt::format("  {} non-finite", range.nonfinite);
  return text;
}

std::string size_text(std::int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.2f} {} ({} bytes)", value, units[unit], bytes);
}

std::string indented(const std::string& text) {
  std::string result;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    result += "  " + text.substr(start, end - start) + '\n';
    start = end + 1;
  }
  return result;
}

}  // namespace

std::string info_text(const std::string& path) {
  const SnapshotFile file(path);
  const SnapshotInfo& info = file.info();
  const Grid& grid = info.grid;
  std::string text;
  const auto add = [&](const char* what, const std::string& value) { text += fmt::format("{:<11}{}\n", what, value); };
  const auto real3 = [](Real3 v) { return fmt::format("({}, {}, {})", v.x, v.y, v.z); };
  add("file", fmt::format("{}, {}", path, size_text(info.file_bytes)));
  add("kind", fmt::format("{}, format version {}", info.checkpoint ? "checkpoint" : "snapshot", info.format_version));
  add("time", fmt::format("{}", info.time));
  add("step", fmt::format("{} (dt {})", info.step, info.dt));
  add("grid", to_string(grid.cells) + " cells");
  add("origin", real3(grid.origin));
  add("size", real3(grid.size));
  add("order", std::to_string(grid.order));
  add("precision", info.precision == Precision::float32 ? "float32" : "float64");
  if (info.compression > 0) {
    const std::int64_t plain = snapshot_bytes(grid, static_cast<int>(info.fields.size()), info.precision);
    add("compressed", fmt::format("shuffle and deflate {}: the fields take {:.1f} % of {} bytes", info.compression,
                                  100.0 * static_cast<double>(info.field_bytes) / static_cast<double>(plain), plain));
  }
  add("written by", fmt::format("mhdsim {} ({}), {}, {}, {}", info.build.version, info.build.revision,
                                info.build.compiler, info.build.mpi, info.build.hdf5));
  text += fmt::format("\n{:<10} {:>22} {:>22}\n", "field", "minimum", "maximum");
  for (const Field field : info.fields)
    text += fmt::format("{:<10} {}\n", name(field), range_text(range_of(file, field)));
  text += "\nconfiguration\n" + indented(info.config);
  return text;
}

}  // namespace mhd
