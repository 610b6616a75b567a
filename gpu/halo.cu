#include <algorithm>

#include "gpu/halo.hpp"

namespace mhd::gpu {
namespace {

constexpr int block = 256;
constexpr int max_boxes = 26;

unsigned blocks_for(std::int64_t items) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((items + block - 1) / block, 1, 1 << 16));
}

/// Grid-stride loop.
template <class F>
__device__ __forceinline__ void for_each_item(std::int64_t items, const F& f) {
  const std::int64_t step = std::int64_t{blockDim.x} * gridDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < items; i += step) f(i);
}

__device__ __forceinline__ int wrapped(int i, int n) {
  const int m = i % n;
  return m < 0 ? m + n : m;
}

/// x: all rows in memory; halo cells on both sides.
__global__ void images_x(double* first, Layout layout, int fields) {
  const std::int64_t rows = layout.rows(), planes = layout.planes();
  const int width = 2 * layout.radius;
  for_each_item(rows * planes * fields * width, [&](std::int64_t n) {
    const int i = static_cast<int>(n % width);
    n /= width;
    const std::int64_t row = n % rows - layout.halo_y, plane = n / rows % planes - layout.halo_z,
                       slot = n / rows / planes;
    double* p = first + slot * layout.field_size + plane * layout.stride_z + row * layout.stride_y;
    const int x = i < layout.radius ? i - layout.radius : layout.cells.x + i - layout.radius;
    p[x] = p[wrapped(x, layout.cells.x)];
  });
}

/// y: whole rows.
__global__ void images_y(double* first, Layout layout, int fields) {
  const std::int64_t planes = layout.planes();
  const int rows = 2 * layout.radius, width = layout.cells.x + 2 * layout.radius;
  for_each_item(std::int64_t{width} * rows * planes * fields, [&](std::int64_t n) {
    const int x = static_cast<int>(n % width) - layout.radius;
    n /= width;
    const int j = static_cast<int>(n % rows);
    const std::int64_t plane = n / rows % planes - layout.halo_z, slot = n / rows / planes;
    double* p = first + slot * layout.field_size + plane * layout.stride_z + x;
    const int y = j < layout.radius ? j - layout.radius : layout.cells.y + j - layout.radius;
    p[y * layout.stride_y] = p[wrapped(y, layout.cells.y) * layout.stride_y];
  });
}

struct BoxList {
  PackedBox box[max_boxes];
  std::int64_t end[max_boxes];  ///< cells up to and including this box
  int count = 0;
};

BoxList box_list(const std::vector<PackedBox>& boxes) {
  BoxList list;
  std::int64_t cells = 0;
  for (const PackedBox& b : boxes) {
    list.box[list.count] = b;
    list.end[list.count++] = cells += b.box.volume();
  }
  return list;
}

/// One fused kernel for all boxes and fields; each item is a cell.
template <bool Pack>
__global__ void copy_boxes(double* first, Layout layout, int fields, const __grid_constant__ BoxList list) {
  for_each_item(list.end[list.count - 1], [&](std::int64_t n) {
    int b = 0;
    while (n >= list.end[b]) ++b;
    const PackedBox& packed = list.box[b];
    if (b > 0) n -= list.end[b - 1];
    const Int3 size = packed.box.size();
    const int x = packed.box.lower.x + static_cast<int>(n % size.x);
    const int y = packed.box.lower.y + static_cast<int>(n / size.x % size.y);
    const int z = packed.box.lower.z + static_cast<int>(n / size.x / size.y);
    double* cell = first + z * layout.stride_z + y * layout.stride_y + x;
    double* place = packed.place + n;
    const std::int64_t volume = std::int64_t{size.x} * size.y * size.z;
    if constexpr (Pack) {
      for (int slot = 0; slot < fields; ++slot) place[slot * volume] = cell[slot * layout.field_size];
    } else {
      // The cell, and its images along the axes that this rank holds alone: all m with -r <= x + m nx < nx + r.
      const int r = layout.radius, nx = layout.cells.x, ny = layout.cells.y;
      const bool image_x = !layout.split[0], image_y = !layout.split[1];
      const int x0 = image_x ? -((x + r) / nx) : 0, x1 = image_x ? (nx + r - 1 - x) / nx : 0;
      const int y0 = image_y ? -((y + r) / ny) : 0, y1 = image_y ? (ny + r - 1 - y) / ny : 0;
      for (int slot = 0; slot < fields; ++slot) {
        const double value = place[slot * volume];
        for (int m = y0; m <= y1; ++m)
          for (int l = x0; l <= x1; ++l)
            cell[slot * layout.field_size + std::int64_t{m} * ny * layout.stride_y + std::int64_t{l} * nx] = value;
      }
    }
  });
}

template <bool Pack>
void launch_copy(double* first, const Layout& layout, int fields, const std::vector<PackedBox>& boxes,
                 cudaStream_t stream) {
  if (boxes.empty()) return;
  const BoxList list = box_list(boxes);
  copy_boxes<Pack><<<blocks_for(list.end[list.count - 1]), block, 0, stream>>>(first, layout, fields, list);
  check_launch(Pack ? "pack" : "unpack");
}

}  // namespace

void fill_images(double* first, const Layout& layout, int fields, cudaStream_t stream) {
  const std::int64_t lines = layout.planes() * fields * 2 * layout.radius;
  if (!layout.split[0]) {
    images_x<<<blocks_for(lines * layout.rows()), block, 0, stream>>>(first, layout, fields);
    check_launch("images_x");
  }
  if (!layout.split[1]) {
    images_y<<<blocks_for(lines * layout.cells.x), block, 0, stream>>>(first, layout, fields);
    check_launch("images_y");
  }
}

void pack(const double* first, const Layout& layout, int fields, const std::vector<PackedBox>& boxes,
          cudaStream_t stream) {
  launch_copy<true>(const_cast<double*>(first), layout, fields, boxes, stream);
}

void unpack(double* first, const Layout& layout, int fields, const std::vector<PackedBox>& boxes, cudaStream_t stream) {
  launch_copy<false>(first, layout, fields, boxes, stream);
}

}  // namespace mhd::gpu
