#pragma once
// series.csv: the diagnostics over time.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/file.hpp"

namespace mhd {

/// One line per call, numbers in the shortest form that reads back to the same bits. For rank 0. Throws Error(io).
class Series {
 public:
  /// Starts the file with the line "it,t,dt," + columns.
  Series(const std::string& path, std::span<const std::string> columns);

  /// Values of the columns of the state at time t after step `it`; dt is the step taken from there. The line has been
  /// handed to the operating system on return.
  void append(std::int64_t it, double t, double dt, std::span<const double> values);
  void close() { file_.close(); }

 private:
  TextWriter file_;
  std::size_t columns_;
};

}  // namespace mhd
