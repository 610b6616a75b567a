#pragma once
// `mhdsim bench step`: the time of a step, by the procedure of Pekkila et al. (2022): all fields uniform random in
// [0, 1], dt = 1.19209e-7, warm-up, then the median over the timed steps.

#include <cstdint>
#include <optional>
#include <string>

#include "core/comm.hpp"
#include "core/config.hpp"

namespace mhd {

struct BenchOptions {
  Int3 cells{128, 128, 128};
  int order = 6;
  std::string physics = "full";               ///< full, isothermal (MHD), entropy-hydro, hydro
  std::optional<std::int64_t> warmup, steps;  ///< absent: of the paper on a GPU, fewer on a CPU
  bool courant = false;                       ///< evaluate the Courant condition in each step as well
  std::optional<Backend> backend;             ///< absent: automatic
  std::optional<Int3> decomposition;
  std::string json;  ///< file to write; empty: none
};

constexpr double benchmark_dt = 1.19209e-7;  ///< of the paper: small enough that random fields stay finite

/// The run that a benchmark measures.
Config benchmark_config(const BenchOptions& options);

/// Collective. Prints the median, percentiles and rates; returns the exit code.
int bench_step(const BenchOptions& options, const Comm& comm);

}  // namespace mhd
