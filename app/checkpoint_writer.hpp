#pragma once
// The checkpoints of a run: written, counted, timed, and removed when newer ones are complete.

#include <cstdint>
#include <optional>
#include <string>

#include "app/background_writer.hpp"
#include "app/write_times.hpp"
#include "core/config.hpp"
#include "core/decomposition.hpp"
#include "io/checkpoint.hpp"

namespace mhd {

class CheckpointWriter {
 public:
  CheckpointWriter(FieldSet set, const Decomposition& decomposition, const Comm& comm, BackgroundWriter& background);

  /// Collective: hands over a checkpoint of the present state, after which the `kept` newest of its directory remain.
  void write(Solver& solver, const std::string& path, const std::string& resolved_config, int kept,
             const RunState& state);

  /// Wall-clock seconds that the slowest one took so far; before the first an estimate from its size.
  double slowest_seconds() const { return times_.slowest(); }

 private:
  Grid grid_;
  Box box_;
  FieldSet set_;
  BackgroundWriter& background_;
  WriteTimes times_;
};

}  // namespace mhd
