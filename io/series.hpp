#pragma once
// series.csv: the diagnostics over time.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/file.hpp"

namespace mhd {

/// One line per call, numbers in the shortest form that reads back to the same bits. For rank 0. Throws Error(io).
class Series {
 public:
  /// Starts the file with the line "it,t,dt," + columns; with `last`, goes on with a file that is there behind its row
  /// of that step and removes later rows.
  Series(const std::string& path, std::span<const std::string> columns, std::optional<std::int64_t> last = {});

  /// Values of the columns of the state at time t after step `it`; dt is the step taken from there. The line has been
  /// handed to the operating system on return.
  void append(std::int64_t it, double t, double dt, std::span<const double> values);
  /// Makes the rows durable.
  void sync() { file_.sync(); }
  void close() { file_.close(); }

 private:
  TextWriter file_;
  std::size_t columns_;
};

}  // namespace mhd
