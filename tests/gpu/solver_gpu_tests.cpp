// The GPU solver against the CPU solver: the same bits, whatever the grid, the order and the physics.

#include "gpu/solver_gpu.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/solver_cpu.hpp"
#include "gpu/device.hpp"
#include "tests/catch.hpp"
#include "tests/gpu_runs.hpp"

using namespace mhd;

namespace {

/// False, with one clear line, where no device is present.
bool have_device() {
  std::string why = "the driver reports none";
  static const bool present = [&] {
    if (gpu::device_count(&why) > 0) return true;
    std::printf("skipped: no GPU here (%s)\n", why.c_str());
    return false;
  }();
  return present;
}

/// Values in [-0.3, 0.3) that depend on slot and cell, without symmetry.
std::vector<double> scattered(Int3 cells, int slot) {
  std::vector<double> v(static_cast<std::size_t>(cells.product()));
  std::uint64_t state = 0x9e3779b97f4a7c15ULL * (slot + 1);
  for (double& x : v) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    x = 0.6 * (static_cast<double>(state >> 11) * 0x1p-53 - 0.5);
  }
  return v;
}

void initialise(Solver& solver, const Config& config) {
  for (int slot = 0; slot < config.physics.fields().count(); ++slot)
    solver.set_field(slot, scattered(config.grid.cells, slot));
}

std::vector<double> values(Solver& solver, int slot) {
  const FieldView f = solver.field(slot);
  std::vector<double> v;
  for (int k = 0; k < f.cells.z; ++k)
    for (int j = 0; j < f.cells.y; ++j)
      for (int i = 0; i < f.cells.x; ++i) v.push_back(f.data[i + j * f.stride_y + k * f.stride_z]);
  return v;
}

/// Cells whose bits differ, over all fields.
std::int64_t different_cells(Solver& a, Solver& b, int slots) {
  std::int64_t different = 0;
  for (int slot = 0; slot < slots; ++slot) {
    const std::vector<double> va = values(a, slot), vb = values(b, slot);
    for (std::size_t i = 0; i < va.size(); ++i)
      different += std::bit_cast<std::uint64_t>(va[i]) != std::bit_cast<std::uint64_t>(vb[i]);
  }
  return different;
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

constexpr Int3 shapes[] = {{40, 24, 20}, {33, 17, 9}, {64, 32, 8}, {1, 1, 1},    {1, 40, 1},   {7, 1, 30},
                           {100, 9, 1},  {2, 2, 2},   {6, 4, 3},   {3, 5, 2000}, {5, 2000, 3}, {2000, 3, 5}};

}  // namespace

TEST_CASE("state, Courant rate and diagnostics have the bits of the CPU solver", "[gpu]") {
  if (!have_device()) return;
  for (int order : {2, 4, 6, 8})
    for (bool magnetic : {false, true})
      for (bool entropy : {false, true})
        for (Int3 cells : shapes) {
          const Config config = gpu_test_config(cells, order, magnetic, entropy);
          const Decomposition whole(Grid(config.grid), 1);
          CpuSolver cpu(config, whole, Comm());
          initialise(cpu, config);
          const double cpu_rate = cpu.courant_rate();
          for (int step = 0; step < 3; ++step) cpu.step(0.01);
          REQUIRE(cpu.finite());
          const DiagnosticSums cpu_sums = cpu.diagnostics();
          for (bool tensor_copies : {true, false}) {
            INFO(to_string(cells) << ", order " << order << (magnetic ? ", magnetic" : "")
                                  << (entropy ? ", entropy" : "") << (tensor_copies ? ", tensor copies" : ""));
            GpuSolver device(config, whole, Comm(), {tensor_copies});
            initialise(device, config);
            CHECK(same_bits(device.courant_rate(), cpu_rate));
            for (int step = 0; step < 3; ++step) device.step(0.01);
            CHECK(different_cells(device, cpu, config.physics.fields().count()) == 0);
            CHECK(same_bits(device.courant_rate(), cpu.courant_rate()));
            CHECK(device.finite());
            const DiagnosticSums sums = device.diagnostics();
            int different = 0;
            for (std::size_t i = 0; i < sums.sums.size(); ++i)
              different += !same_bits(sums.sums[i].value(), cpu_sums.sums[i].value());
            for (std::size_t i = 0; i < sums.maxima.size(); ++i) different += !(sums.maxima[i] == cpu_sums.maxima[i]);
            CHECK(different == 0);
            CHECK(sums.nonfinite == 0);
          }
        }
}

TEST_CASE("a run repeats itself bit for bit", "[gpu]") {
  if (!have_device()) return;
  const Config config = gpu_test_config({96, 80, 72}, 6, true, true);
  const Decomposition whole(Grid(config.grid), 1);
  GpuSolver first(config, whole, Comm());
  initialise(first, config);
  for (int step = 0; step < 20; ++step) first.step(0.003);
  for (int repetition = 0; repetition < 5; ++repetition) {
    GpuSolver again(config, whole, Comm());
    initialise(again, config);
    for (int step = 0; step < 20; ++step) again.step(0.003);
    CHECK(different_cells(first, again, 8) == 0);
  }
}

TEST_CASE("a value that is not finite is reported once, and the Courant rate is NaN", "[gpu]") {
  if (!have_device()) return;
  const Config config = gpu_test_config({40, 20, 12}, 6, true, true);
  const Decomposition whole(Grid(config.grid), 1);
  GpuSolver device(config, whole, Comm());
  initialise(device, config);
  device.step(0.01);
  CHECK(device.finite());
  std::vector<double> poisoned = scattered(config.grid.cells, 7);
  poisoned[4321] = std::numeric_limits<double>::quiet_NaN();
  device.set_field(7, poisoned);
  CHECK(std::isnan(device.courant_rate()));
  CHECK(device.diagnostics().nonfinite > 0);
  device.step(0.01);
  CHECK_FALSE(device.finite());
  initialise(device, config);
  device.step(0.01);
  CHECK(device.finite());
}

TEST_CASE("captured fields keep their values while further steps run", "[gpu]") {
  if (!have_device()) return;
  const Config config = gpu_test_config({40, 20, 12}, 6, true, true);
  const Decomposition whole(Grid(config.grid), 1);
  GpuSolver device(config, whole, Comm());
  initialise(device, config);
  const std::vector<int> slots = {5, 0};
  const std::vector<FieldView> views = device.capture(slots);
  for (int step = 0; step < 3; ++step) device.step(0.01);
  device.synchronize();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::vector<double> expected = scattered(config.grid.cells, slots[i]);
    CHECK(std::vector<double>(views[i].data, views[i].data + expected.size()) == expected);
  }
}

TEST_CASE("the prediction of device memory is right within two percent", "[gpu]") {
  if (!have_device()) return;
  const Config config = gpu_test_config({250, 131, 127}, 6, true, true);
  const Decomposition whole(Grid(config.grid), 1);
  {
    const GpuSolver warm_up(gpu_test_config({8, 8, 8}, 6, true, true),
                            Decomposition(Grid(gpu_test_config({8, 8, 8}, 6, true, true).grid), 1), Comm());
  }
  const double before = static_cast<double>(gpu::device_info(0).free_bytes);
  const GpuSolver device(config, whole, Comm());
  const double used = before - static_cast<double>(gpu::device_info(0).free_bytes);
  const double predicted = static_cast<double>(gpu::device_bytes(whole, 0, config.physics.fields()));
  INFO("used " << used << ", predicted " << predicted);
  CHECK(std::abs(used - predicted) <= 0.02 * used);
}

TEST_CASE("a grid that does not fit is refused with the number of GPUs that would hold it", "[gpu]") {
  if (!have_device()) return;
  const Config config = gpu_test_config({4000, 4000, 4000}, 6, true, true);
  const Decomposition whole(Grid(config.grid), 1);
  std::string message;
  try {
    const GpuSolver device(config, whole, Comm());
  } catch (const Error& e) {
    CHECK(e.code() == ExitCode::device);
    message = e.what();
  }
  CHECK(message.find("such GPUs would hold the grid of 4000 x 4000 x 4000 cells") != std::string::npos);
}

TEST_CASE("1000^3 cells of full MHD fit into 141 GB", "[gpu]") {
  const Config config = gpu_test_config({1000, 1000, 1000}, 6, true, true);
  CHECK(gpu::device_bytes(Decomposition(Grid(config.grid), 1), 0, config.physics.fields()) < 141e9);
}
