#pragma once
// The CPU backend: one subdomain per rank in host memory, halos through MPI, SIMD kernels along x.

#include "core/comm.hpp"
#include "core/config.hpp"
#include "core/cpu_kernel.hpp"
#include "core/decomposition.hpp"
#include "core/halo_host.hpp"
#include "core/solver.hpp"

namespace mhd {

class CpuSolver final : public Solver {
 public:
  /// Collective over `comm`, whose size is that of the decomposition.
  CpuSolver(const Config& config, const Decomposition& decomposition, const Comm& comm);

  void set_field(int slot, std::span<const double> values) override;
  FieldView field(int slot) override { return current_.view(slot); }
  std::vector<FieldView> capture(std::span<const int> slots) override;
  void step(double dt) override;
  double courant_rate() override;
  void start_diagnostics() override { diagnostics_ = present_diagnostics(); }
  DiagnosticSums finish_diagnostics() override { return diagnostics_; }
  bool finite() override;
  StepTiming timing(int) const override { return timing_; }

  /// Instruction set of the kernels, for the banner.
  const char* instruction_set() const { return kernels_.instruction_set; }

  /// Bytes of field memory of a rank with these cells, halos and padding included.
  static std::size_t memory_bytes(const Grid& grid, Int3 cells, FieldSet fields);

 private:
  KernelFields kernel_fields(const HostState& state) const;
  void fill_halos();
  DiagnosticSums present_diagnostics();

  Coefficients coefficients_;
  FieldSet fields_;
  CpuKernels kernels_;
  HostState current_, other_;
  HostHalo halo_;
  bool halos_valid_ = false;  ///< the halos of the present state are filled
  bool finite_ = true;
  StepTiming timing_;
  std::vector<double> captured_;
  DiagnosticSums diagnostics_{fields_};
};

}  // namespace mhd
