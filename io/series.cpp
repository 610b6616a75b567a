#include "io/series.hpp"

#include <fmt/format.h>

#include <iterator>

#include "core/error.hpp"

namespace mhd {

namespace {

std::string header_of(std::span<const std::string> columns) {
  std::string header = "it,t,dt";
  for (const std::string& column : columns) header += ',' + column;
  return header;
}

}  // namespace

Series::Series(const std::string& path, std::span<const std::string> columns, std::optional<std::int64_t> last)
    : file_(open_table(path, header_of(columns), last)), columns_(columns.size()) {}

void Series::append(std::int64_t it, double t, double dt, std::span<const double> values) {
  if (values.size() != columns_)
    throw Error(ExitCode::internal,
                fmt::format("{}: expected {} values in a line, found {}", file_.path(), columns_, values.size()));
  std::string line = fmt::format("{},{},{}", it, t, dt);
  for (const double value : values) fmt::format_to(std::back_inserter(line), ",{}", value);
  file_.write(line + '\n');
  file_.flush();
}

}  // namespace mhd
