#pragma once
// `mhdsim bench output`: how fast snapshots and checkpoints are written, against a plain parallel write of the same
// bytes in the same run.

#include <cstdint>
#include <optional>
#include <string>

#include "core/comm.hpp"
#include "core/config.hpp"

namespace mhd {

struct BenchOutputOptions {
  Int3 cells{128, 128, 128};
  std::string physics = "full";  ///< as of bench step; decides about the number of fields
  Precision precision = Precision::float64;
  int compression = 1;      ///< level of the compressed snapshots; 0: none of them
  std::int64_t rounds = 5;  ///< of each kind of file, in turn
  std::optional<Int3> decomposition;
  std::string directory = ".";  ///< where the files are written, and removed again
  std::string json;             ///< file to write; empty: none
};

/// Collective. Prints a table; returns the exit code.
int bench_output(const BenchOutputOptions& options, const Comm& comm);

}  // namespace mhd
