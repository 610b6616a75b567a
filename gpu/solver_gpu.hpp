#pragma once
// The GPU backend: one subdomain per rank in device memory. No CUDA headers here.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/decomposition.hpp"
#include "core/solver.hpp"
#include "core/timeline.hpp"
#include "gpu/test_options.hpp"

namespace mhd {

struct GpuOptions {
  /// Planes are fetched by the tensor memory accelerator where the device has one; off for tests of the other way.
  bool tensor_copies = true;
  /// Cells that read no halo are computed while halos travel, where that turns out to be faster.
  bool overlap = true;
  /// Off for measurements of the computation alone: the halos of other ranks are then those of an earlier state.
  bool exchange = true;
  gpu::TestOptions test = {};  ///< what tests change
};

class GpuSolver final : public Solver {
 public:
  /// On the device that is current (gpu::select_device). Collective over `comm`, whose size is that of the
  /// decomposition. Throws Error(device) where the grid does not fit, naming how many GPUs would hold it.
  GpuSolver(const Config& config, const Decomposition& decomposition, const Comm& comm, GpuOptions options = {});
  ~GpuSolver() override;

  void set_field(int slot, std::span<const double> values) override;
  FieldView field(int slot) override;
  /// To pinned host memory; empty where the host has too little.
  std::vector<FieldView> capture(std::span<const int> slots) override;
  /// Returns when the step is queued: with other ranks, after the last of their messages has come. Errors of the device
  /// may be thrown by a later call.
  void step(double dt) override;
  double courant_rate() override;
  void start_diagnostics() override;
  DiagnosticSums finish_diagnostics() override;
  bool finite() override;
  int steps_ahead() const override;
  /// `wait` is the time in which the device had nothing to compute for want of halos; all else counts as compute.
  StepTiming timing(int back = 0) const override;

  /// Waits until the device has done all that was queued.
  void synchronize() const;
  /// Which kernel runs with which tile, for the banner.
  std::string description() const;
  /// How halos travel and why so; empty on one rank.
  std::string transport() const;
  /// Which cells are computed while halos travel; empty on one rank.
  std::string overlap() const;
  /// To other ranks in one exchange.
  std::int64_t bytes_sent() const;
  /// Exchanges the halos of the present state; collective. Returns when all is queued.
  void exchange_halos();
  /// A step, and when its stages began and ended, in seconds from its beginning.
  std::vector<TimelineEntry> timed_step(double dt);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mhd
