#include <memory>

#include "gpu/halo_check.hpp"
#include "gpu/transport.hpp"

namespace mhd::gpu {
namespace {

struct Numbering {
  Layout layout;
  Int3 first, cells;  ///< of the subdomain in the grid; of the grid
  int fields = 0;
  bool corners = false;
};

struct Counts {
  unsigned long long values, wrong;
};

__device__ __forceinline__ std::int64_t periodic(int i, int n) { return ((i % n) + n) % n; }

/// The number of a cell of a field in a round; below 2^53 for grids of up to 2^39 cells.
__device__ double number(const Numbering& n, int slot, int x, int y, int z, int round) {
  const std::int64_t gx = periodic(n.first.x + x, n.cells.x), gy = periodic(n.first.y + y, n.cells.y),
                     gz = periodic(n.first.z + z, n.cells.z);
  const std::int64_t cell = gx + n.cells.x * (gy + n.cells.y * gz);
  return static_cast<double>((cell * 8 + slot) * 1024 + round % 1024);
}

/// Calls f(slot, x, y, z, place) for every cell of every field, those of the halo included.
template <class F>
__device__ void for_each_cell(const Numbering& n, const F& f) {
  const Layout& l = n.layout;
  const int r = l.radius;
  const std::int64_t nx = l.cells.x + 2 * r, ny = l.rows(), nz = l.planes();
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < nx * ny * nz * n.fields;
       i += std::int64_t{blockDim.x} * gridDim.x) {
    const int x = static_cast<int>(i % nx) - r, y = static_cast<int>(i / nx % ny) - l.halo_y,
              z = static_cast<int>(i / nx / ny % nz) - l.halo_z, slot = static_cast<int>(i / nx / ny / nz);
    f(slot, x, y, z, slot * l.field_size + z * l.stride_z + y * l.stride_y + x);
  }
}

__device__ bool outside(int i, int n) { return i < 0 || i >= n; }

/// Own cells get their number, all others -1.
__global__ void set_numbers(double* first, Numbering n, int round) {
  for_each_cell(n, [&](int slot, int x, int y, int z, std::int64_t place) {
    const Int3 c = n.layout.cells;
    const bool halo = outside(x, c.x) || outside(y, c.y) || outside(z, c.z);
    first[place] = halo ? -1 : number(n, slot, x, y, z, round);
  });
}

__global__ void compare_numbers(const double* first, Numbering n, int round, Counts* counts) {
  unsigned long long values = 0, wrong = 0;
  for_each_cell(n, [&](int slot, int x, int y, int z, std::int64_t place) {
    const Int3 c = n.layout.cells;
    const bool out[3] = {outside(x, c.x), outside(y, c.y), outside(z, c.z)};
    if (!out[0] && !out[1] && !out[2]) return;
    int split = 0;
    for (int axis = 0; axis < 3; ++axis) split += out[axis] && n.layout.split[axis];
    if (split == 3 && !n.corners) return;
    ++values;
    wrong += first[place] != number(n, slot, x, y, z, round);
  });
  atomicAdd(&counts->values, values);
  atomicAdd(&counts->wrong, wrong);
}

}  // namespace

HaloCheck check_halos(const Decomposition& decomposition, const Comm& comm, int fields, const RunConfig& run,
                      int rounds, const TestOptions& test) {
  Numbering n;
  n.layout = Layout(decomposition, comm.rank());
  n.first = decomposition.box(comm.rank()).lower;
  n.cells = decomposition.grid().cells;
  n.fields = fields;
  n.corners = run.exchange_corners;
  const HaloPlan plan(decomposition, comm.rank(), run.exchange_corners);
  Timeline timeline;
  std::unique_ptr<HaloExchange> halo;
  if (decomposition.exchanges()) halo = choose_exchange(run, plan, n.layout, fields, comm, timeline, test).halo;

  const std::size_t size = static_cast<std::size_t>(n.layout.field_size) * fields;
  const DeviceBuffer<double> states[2] = {device_buffer<double>(size), device_buffer<double>(size)};
  const DeviceBuffer<Counts> counts = device_buffer<Counts>(1);
  check_cuda(cudaMemset(counts.data(), 0, sizeof(Counts)), "cudaMemset");
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const Stream stream;
  Event set[1];
  constexpr int blocks = 264, threads = 256;
  for (int round = 0; round < rounds; ++round) {
    double* first = states[round % 2].data() + n.layout.origin();
    set_numbers<<<blocks, threads, 0, stream.get()>>>(first, n, round);
    check_launch("set_numbers");
    fill_images(first, n.layout, fields, stream.get());
    stream.record(set[0]);
    if (halo) {
      halo->begin(first, set);
      for (int m = halo->next(first); m >= 0; m = halo->next(first)) stream.wait(halo->unpacked());
    }
    compare_numbers<<<blocks, threads, 0, stream.get()>>>(first, n, round, counts.data());
    check_launch("compare_numbers");
  }
  stream.synchronize();
  Counts found{};
  check_cuda(cudaMemcpy(&found, counts.data(), sizeof found, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return {static_cast<std::int64_t>(found.values), static_cast<std::int64_t>(found.wrong)};
}

}  // namespace mhd::gpu
