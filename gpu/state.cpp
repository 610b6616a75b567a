#include "gpu/state.hpp"

#include <string>

#include "core/error.hpp"

namespace mhd::gpu {
namespace {

/// The driver's function is looked up at run time, so that nothing links with the driver.
CUtensorMap tensor_map(double* data, const Layout& layout, int fields, int box_x, int box_y) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
             "cudaGetDriverEntryPoint(cuTensorMapEncodeTiled)");
#else
  check_cuda(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found),
             "cudaGetDriverEntryPoint(cuTensorMapEncodeTiled)");
#endif
  if (found != cudaDriverEntryPointSuccess || !function)
    throw Error(ExitCode::device, "the driver has no cuTensorMapEncodeTiled; CUDA 12 or later is needed");
  CUtensorMap map{};
  const cuuint64_t sizes[4] = {static_cast<cuuint64_t>(layout.stride_y), static_cast<cuuint64_t>(layout.rows()),
                               static_cast<cuuint64_t>(layout.planes()), static_cast<cuuint64_t>(fields)};
  const cuuint64_t strides[3] = {static_cast<cuuint64_t>(layout.stride_y) * sizeof(double),
                                 static_cast<cuuint64_t>(layout.stride_z) * sizeof(double),
                                 static_cast<cuuint64_t>(layout.field_size) * sizeof(double)};
  const cuuint32_t box[4] = {static_cast<cuuint32_t>(box_x), static_cast<cuuint32_t>(box_y), 1,
                             static_cast<cuuint32_t>(fields)};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  const CUresult result = reinterpret_cast<Encode>(function)(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 4, data, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw Error(ExitCode::internal, "cuTensorMapEncodeTiled failed with code " + std::to_string(result) + " for " +
                                        to_string(layout.cells) + " cells");
  return map;
}

}  // namespace

DeviceState::DeviceState(const Layout& layout, int fields, const TileShape& shape)
    : layout_(layout), data_(device_buffer<double>(static_cast<std::size_t>(layout.field_size) * fields)) {
  check_cuda(cudaMemset(data_.data(), 0, layout.state_bytes(fields)), "cudaMemset");
  if (!shape.tensor_copies) return;
  padded_tile_ = tensor_map(data_.data(), layout, fields, shape.padded_x, shape.padded_y);
  tile_ = tensor_map(data_.data(), layout, fields, shape.tile_x, shape.tile_y);
}

}  // namespace mhd::gpu
