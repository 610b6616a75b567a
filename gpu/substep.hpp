#pragma once
// Launches of the substep kernels. One source file per stencil radius instantiates them (gpu/substep_r*.cu).

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "core/box.hpp"
#include "core/coefficients.hpp"
#include "core/fields.hpp"
#include "core/runge_kutta.hpp"
#include "gpu/layout.hpp"

namespace mhd::gpu {

/// How a kernel reads and writes the fields of one subdomain; pointers to cell (0, 0, 0) of slot 0.
struct FieldPointers {
  const double* in = nullptr;
  double* out = nullptr;
  std::int64_t stride_y = 0, stride_z = 0, stride_field = 0;
  std::int64_t slot_offset[max_fields] = {};  ///< slot * stride_field
  Int3 cells{};
  bool wrap_z = false;   ///< planes outside the subdomain are those of its other end
  bool image_x = false;  ///< cells near an x (y) boundary are also stored as the halo of the other end
  bool image_y = false;
  int first_row = 0, last_row = 0;  ///< rows that exist, for loads of tiles that overhang: first_row <= y < last_row
};

struct SubstepArguments {
  Coefficients coefficients;
  SubstepCoefficients runge_kutta;
  FieldPointers fields;
  Box region;    ///< cells to compute
  Int3 tiles{};  ///< blocks per axis; along z each marches `chunk` planes
  int chunk = 0;
  int* nonfinite = nullptr;  ///< set to 1 where a result of the second or third substep is not finite
};

/// The shape of a kernel's tile, for descriptors of tensor copies and for the banner.
struct TileShape {
  int tile_x = 0, tile_y = 0;
  int padded_x = 0, padded_y = 0;  ///< with the cells around that derivatives read
  int halo_x = 0;                  ///< cells before the tile in a padded row
  int threads = 0;
  std::size_t shared_bytes = 0;
  bool tensor_copies = false;  ///< planes are fetched by the tensor memory accelerator (compute capability 9 and later)
};

/// The kernels of one radius and field set on one device.
struct SubstepKernel {
  TileShape shape;
  void (*launch)(const SubstepArguments&, const CUtensorMap& load, const CUtensorMap& previous, bool first,
                 cudaStream_t) = nullptr;
  void (*prepare)() = nullptr;  ///< once per process, before the first launch
};

/// The kernels of a radius, filled by the tensor memory accelerator or by asynchronous copies.
SubstepKernel substep_kernel_r1(FieldSet fields, bool tensor_copies);
SubstepKernel substep_kernel_r2(FieldSet fields, bool tensor_copies);
SubstepKernel substep_kernel_r3(FieldSet fields, bool tensor_copies);
SubstepKernel substep_kernel_r4(FieldSet fields, bool tensor_copies);
SubstepKernel substep_kernel(int radius, FieldSet fields, bool tensor_copies);

/// Cuts a region into tiles and z chunks such that the device's multiprocessors are filled evenly.
void choose_tiles(SubstepArguments& arguments, const TileShape& shape, int radius, int multiprocessors);

}  // namespace mhd::gpu
