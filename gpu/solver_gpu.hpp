#pragma once
// The GPU backend: one subdomain per rank in device memory. No CUDA headers here.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/decomposition.hpp"
#include "core/solver.hpp"

namespace mhd {

struct GpuOptions {
  /// Planes are fetched by the tensor memory accelerator where the device has one; off for tests of the other way.
  bool tensor_copies = true;
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
  /// Returns when the step is queued; errors of the device may be thrown by a later call.
  void step(double dt) override;
  double courant_rate() override;
  DiagnosticSums diagnostics() override;
  bool finite() override;
  /// Steps of one rank are queued ahead; with halos from other ranks the host takes part in each step.
  int steps_ahead() const override;
  /// All of a step counts as compute on one rank.
  StepTiming timing(int back = 0) const override;

  /// Waits until the device has done all that was queued.
  void synchronize() const;
  /// Which kernel runs with which tile, for the banner.
  std::string description() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace mhd
