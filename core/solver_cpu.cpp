#include "core/solver_cpu.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>
#include <vector>

namespace mhd {
namespace {

HostLayout layout_of(const Decomposition& decomposition, int rank) {
  return HostLayout(decomposition.grid(), decomposition.box(rank).size());
}

}  // namespace

CpuSolver::CpuSolver(const Config& config, const Decomposition& decomposition, const Comm& comm)
    : coefficients_(coefficients(config)),
      fields_(config.physics.fields()),
      kernels_(cpu_kernels(decomposition.grid().radius(), fields_)),
      current_(layout_of(decomposition, comm.rank()), fields_.count()),
      other_(layout_of(decomposition, comm.rank()), fields_.count()),
      halo_(HaloPlan(decomposition, comm.rank(), config.run.exchange_corners), current_.layout(), fields_.count(),
            comm) {}

std::size_t CpuSolver::memory_bytes(const Grid& grid, Int3 cells, FieldSet fields) {
  return 2 * HostLayout(grid, cells).bytes(fields.count());
}

void CpuSolver::set_field(int slot, std::span<const double> values) {
  current_.set_interior(slot, values);
  halos_valid_ = false;
}

KernelFields CpuSolver::kernel_fields(const HostState& state) const {
  KernelFields f;
  for (int slot = 0; slot < fields_.count(); ++slot) f.field[slot] = state.cell(slot);
  f.stride_y = state.layout().stride_y;
  f.stride_z = state.layout().stride_z;
  return f;
}

void CpuSolver::fill_halos() {
  if (halos_valid_) return;
  halo_.exchange(current_);
  halos_valid_ = true;
}

std::vector<FieldView> CpuSolver::capture(std::span<const int> slots) {
  const Int3 cells = current_.layout().cells;
  const std::size_t size = static_cast<std::size_t>(cells.product());
  try {
    captured_.resize(size * slots.size());
  } catch (const std::bad_alloc&) {
    return {};
  }
  std::vector<FieldView> views;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const FieldView from = field(slots[i]);
    double* to = captured_.data() + i * size;
    views.push_back({to, cells, cells.x, std::ptrdiff_t{cells.x} * cells.y});
    for (int z = 0; z < cells.z; ++z)
      for (int y = 0; y < cells.y; ++y)
        to = std::copy_n(from.data + y * from.stride_y + z * from.stride_z, cells.x, to);
  }
  return views;
}

void CpuSolver::step(double dt) {
  using Clock = std::chrono::steady_clock;
  halo_.reset_timing();
  const Box all{{0, 0, 0}, current_.layout().cells};
  double compute = 0;
  for (int substep = 0; substep < substeps; ++substep) {
    fill_halos();
    const auto start = Clock::now();
    std::array<double*, max_fields> out{};
    for (int slot = 0; slot < fields_.count(); ++slot) out[slot] = other_.cell(slot);
    const bool finite = kernels_.substep(coefficients_, substep_coefficients(substep, dt), substep == 0,
                                         kernel_fields(current_), out.data(), all);
    finite_ = finite_ && finite;
    std::swap(current_, other_);
    halos_valid_ = false;
    compute += std::chrono::duration<double>(Clock::now() - start).count();
  }
  timing_ = halo_.timing();
  timing_.compute = compute;
}

bool CpuSolver::finite() { return std::exchange(finite_, true); }

double CpuSolver::courant_rate() {
  fill_halos();
  return std::sqrt(
      kernels_.courant_rate2(coefficients_, kernel_fields(current_), {{0, 0, 0}, current_.layout().cells}));
}

DiagnosticSums CpuSolver::present_diagnostics() {
  fill_halos();
  DiagnosticSums result(fields_);
  const KernelFields in = kernel_fields(current_);
  const Int3 cells = current_.layout().cells;
  std::vector<double> sums(sum_of::count * diagnostic_run), maxima(max_of::count * diagnostic_run);
  for (int z = 0; z < cells.z; ++z)
    for (int y = 0; y < cells.y; ++y)
      for (int x = 0; x < cells.x; x += diagnostic_run) {
        const int n = std::min(diagnostic_run, cells.x - x);
        kernels_.diagnostics(coefficients_, in, {x, y, z}, n, sums.data(), maxima.data());
        for (int s = 0; s < sum_of::count; ++s)
          result.sums[s].add(std::span<const double>(sums).subspan(s * diagnostic_run, n));
        for (int m = 0; m < max_of::count; ++m)
          for (int i = 0; i < n; ++i) {
            // -0 and +0 compare equal: which of both a maximum keeps must not depend on the order of the cells.
            const double value = maxima[m * diagnostic_run + i] + 0.0;
            if (!std::isfinite(value)) ++result.nonfinite;
            result.maxima[m] = larger(result.maxima[m], value);
          }
      }
  return result;
}

}  // namespace mhd
