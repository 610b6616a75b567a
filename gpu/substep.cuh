#pragma once
// One substep of the right-hand side and the Runge-Kutta update, fused.
//
// A block marches a tile in z. Planes of all fields stream through a ring in shared memory. Each thread owns a column
// of cells: values of the planes below stay in registers, and the parts of grad div that mix z with x or y are summed
// plane by plane as planes arrive (core/derivatives.hpp, add_plane). With magnetism the block's warps have two roles,
// so that each needs few registers: the induction warps do the vector potential and the thermodynamics, the fluid warps
// density, velocity and entropy. The warps of a pair own the same cells and hand over through shared memory.

#include <type_traits>

#include "gpu/cuda_check.hpp"
#include "gpu/plane_ring.cuh"

namespace mhd::gpu {

template <int R, bool Magnetic, bool Entropy, bool Tensor>
struct SubstepShape {
  static constexpr int radius = R;
  static constexpr FieldSet field_set{Magnetic, Entropy};
  static constexpr int fields = field_set.count();
  static constexpr int slot_ss = field_set.slot(Field::ss);
  static constexpr bool split_roles = Magnetic;
  // As many warps as keep a thread's state in registers: 12 of 168, or 8 of 255.
  static constexpr int tile_x = Magnetic && R == 4 ? 16 : 32;
  static constexpr int tile_y = !Tensor ? 4 : Magnetic ? (R <= 3 ? 6 : 12) : (R <= 3 ? 12 : 8);
  static constexpr int halo_x = R <= 2 ? 2 : 4;  // 16-byte aligned
  static constexpr int padded_x = tile_x + 2 * halo_x, padded_y = tile_y + 2 * R;
  static constexpr int field_stride = padded_x * padded_y;  // doubles
  static constexpr int plane_bytes = fields * field_stride * static_cast<int>(sizeof(double));
  static constexpr int slot_size = (plane_bytes + 127) / 128 * 16;  // doubles
  static constexpr int cells = tile_x * tile_y, cell_warps = cells / 32;
  static constexpr int warps = cell_warps * (split_roles ? 2 : 1), threads = warps * 32;
  // What the induction warps hand over: Lorentz force, current squared, and the results of the exponentials.
  static constexpr int hand_over_size = (split_roles ? 7 : 0) * cells;  // doubles
  static constexpr int limit = Tensor ? 231936 : 162 * 1024;            // bytes; 512 more are for barriers
  // R + 1 planes are in use; the others are on their way.
  static constexpr int slots_that_fit = (limit - hand_over_size * 8) / (slot_size * 8);
  static constexpr int slots = !Tensor ? R + 2 : slots_that_fit < R + 5 ? slots_that_fit : R + 5;
  static_assert(slots >= R + 2 && slots_that_fit >= slots);
  static_assert(!split_roles || 2 * cell_warps < 16);         // hardware barriers
  static constexpr int hand_over_offset = slots * slot_size;  // doubles
  static constexpr std::size_t shared_bytes = std::size_t{8} * (hand_over_offset + hand_over_size);
};

/// Values of one field around a thread's cell: planes from its own upwards in shared memory, below in registers.
template <class Shape>
struct Around {
  const double* shared;  ///< the ring
  const int (&plane)[Shape::radius + 1];
  int field;
  const double (&below)[Shape::radius];
  __device__ __forceinline__ double operator()(int i, int j, int k) const {
    return k < 0 ? below[-k - 1] : shared[plane[k] + field * Shape::field_stride + j * Shape::padded_x + i];
  }
};

/// A thread's memory of one vector: values below, and the open sums of grad div; sums[m] belongs to the cell R - m
/// planes above the one that arrived last.
template <class Shape, int First>
struct VectorColumn {
  static constexpr int R = Shape::radius;
  double below[3][R] = {};
  AcrossPlanes<double> sums[2 * R] = {};

  /// Takes in the plane that arrived (its cell at shared + at); returns the sums that it completes.
  __device__ __forceinline__ AcrossPlanes<double> arrive(const StencilCoefficients& c, const double* shared, int at) {
    PlaneDifferences<double> d[R + 1];
#pragma unroll
    for (int n = 1; n <= R; ++n) {
      const auto difference = [&](int component, int step) {
        const double* p = shared + at + (First + component) * Shape::field_stride;
        return p[n * step] - p[-n * step];
      };
      d[n] = {difference(0, 1), difference(1, Shape::padded_x), difference(2, 1), difference(2, Shape::padded_x)};
    }
    const AcrossPlanes<double> complete = add_plane<R>(c, R, d[R], sums[2 * R - 1]);
#pragma unroll
    for (int m = 2 * R - 1; m >= 1; --m) {
      const int k = m - R;
      sums[m] = k == 0 ? sums[m - 1] : add_plane<R>(c, k, d[k < 0 ? -k : k], sums[m - 1]);
    }
    sums[0] = add_plane<R>(c, -R, d[R], AcrossPlanes<double>{});
    return complete;
  }
  __device__ __forceinline__ void push(const double (&value)[3]) {
#pragma unroll
    for (int i = 0; i < 3; ++i) {
#pragma unroll
      for (int k = R - 1; k > 0; --k) below[i][k] = below[i][k - 1];
      below[i][0] = value[i];
    }
  }
  __device__ __forceinline__ VectorDerivatives<double> derivatives(const StencilCoefficients& c, const double* shared,
                                                                   const int (&plane)[R + 1],
                                                                   const AcrossPlanes<double>& across) const {
    return vector_derivatives<R, double>(c, Around<Shape>{shared, plane, First, below[0]},
                                         Around<Shape>{shared, plane, First + 1, below[1]},
                                         Around<Shape>{shared, plane, First + 2, below[2]}, across);
  }
};

template <class Shape, int Slot>
struct ScalarColumn {
  static constexpr int R = Shape::radius;
  double below[R] = {};
  __device__ __forceinline__ void push(double value) {
#pragma unroll
    for (int k = R - 1; k > 0; --k) below[k] = below[k - 1];
    below[0] = value;
  }
  __device__ __forceinline__ ScalarDerivatives<double> derivatives(const StencilCoefficients& c, const double* shared,
                                                                   const int (&plane)[R + 1]) const {
    return scalar_derivatives<R, double>(c, Around<Shape>{shared, plane, Slot, below});
  }
};

/// A thread's results on their way to memory, with the copies in the halo of a periodic axis.
struct TileStore {
  const FieldPointers& fields;
  const Box& region;
  int x, y;

  __device__ __forceinline__ bool valid() const {
    return x >= region.lower.x && x < region.upper.x && y >= region.lower.y && y < region.upper.y;
  }
  __device__ __forceinline__ bool near_boundary(int radius) const {
    return (fields.image_x && (x < radius || x >= fields.cells.x - radius)) ||
           (fields.image_y && (y < radius || y >= fields.cells.y - radius));
  }
  /// p: the cell in slot 0; values of slots first .. first + N - 1 and, with Last >= 0, of slot Last.
  template <int First, int N, int Last>
  __device__ __forceinline__ void store(double* p, const double* value) const {
#pragma unroll
    for (int i = 0; i < N; ++i) p[fields.slot_offset[First + i]] = value[i];
    if constexpr (Last >= 0) p[fields.slot_offset[Last]] = value[N];
  }
  template <int First, int N, int Last>
  __device__ __forceinline__ void load(const double* p, double* value) const {
#pragma unroll
    for (int i = 0; i < N; ++i) value[i] = p[fields.slot_offset[First + i]];
    if constexpr (Last >= 0) value[N] = p[fields.slot_offset[Last]];
  }
  template <int First, int N, int Last>
  __device__ __forceinline__ void store_images(double* p, const double* value, int radius) const {
    // All m with -radius <= x + m nx < nx + radius.
    const int nx = fields.cells.x, ny = fields.cells.y;
    const int x0 = fields.image_x ? -((x + radius) / nx) : 0, x1 = fields.image_x ? (nx + radius - 1 - x) / nx : 0;
    const int y0 = fields.image_y ? -((y + radius) / ny) : 0, y1 = fields.image_y ? (ny + radius - 1 - y) / ny : 0;
#pragma unroll 1
    for (int m = y0; m <= y1; ++m)
#pragma unroll 1
      for (int l = x0; l <= x1; ++l)
        if (l != 0 || m != 0)
          store<First, N, Last>(p + std::int64_t{m} * ny * fields.stride_y + std::int64_t{l} * nx, value);
  }
};

/// Largest biased exponent field seen: 0x7ff00000 and above for values that are not finite.
__device__ __forceinline__ void watch(unsigned& largest, double value) {
  largest = max(largest, static_cast<unsigned>(__double2hiint(value)) & 0x7fffffffu);
}

/// Everything a block's threads know besides the fields.
template <int R, bool Magnetic, bool Entropy, bool Tensor, bool First>
struct SubstepBlock {
  using Shape = SubstepShape<R, Magnetic, Entropy, Tensor>;
  using Ring = std::conditional_t<Tensor, TensorRing<Shape, !First>, CopyRing<Shape, !First>>;

  const SubstepArguments& args;
  const double* shared;
  double* handed;  ///< this cell's place in the hand-over buffer
  int pair;        ///< number of the warp pair; 2 pair + 1 is its barrier "handed over", 2 pair + 2 "taken"
  Ring& ring;
  TileStore target;
  int own;  ///< this cell's place in a padded tile
  int planes, z0;

  /// Marches: calls arrive(at) for every plane and compute(i, plane, old, next) for every plane of results; `plane` are
  /// the places of the cell in the planes from its own upwards. compute sets the values to store.
  template <int FirstSlot, int N, int Last, class Arrive, class WarmUp, class Compute>
  __device__ __forceinline__ void march(const Arrive& arrive, const WarmUp& warm_up, const Compute& compute) {
    const FieldPointers& f = args.fields;
    const bool valid = target.valid(), near = valid && target.near_boundary(R);
    double* p = f.out + target.y * f.stride_y + target.x + z0 * f.stride_z;
    unsigned largest = 0;
    for (int i = 0; i < 2 * R; ++i) {
      ring.acquire(i);
      const int at = ring.slot() * Shape::slot_size + own;
      arrive(at);
      if (i < R) warm_up(at);
      ring.release(i);
    }
    for (int i = 2 * R; i < planes; ++i) {
      ring.acquire(i);
      int plane[R + 1];
#pragma unroll
      for (int k = 0; k <= R; ++k) {
        const int s = ring.slot() - R + k;
        plane[k] = (s < 0 ? s + Shape::slots : s) * Shape::slot_size + own;
      }
      double old[N + 1], next[N + 1];
      if constexpr (!First) {
        if (valid) target.template load<FirstSlot, N, Last>(p, old);
      }
      compute(i, plane, old, next);
      if (valid) {
        target.template store<FirstSlot, N, Last>(p, next);
        if constexpr (!First) {
#pragma unroll
          for (int k = 0; k < N + (Last >= 0); ++k) watch(largest, next[k]);
        }
        if (near) target.template store_images<FirstSlot, N, Last>(p, next, R);
      }
      p += f.stride_z;
    }
    if constexpr (!First) {
      if (largest >= 0x7ff00000u) *args.nonfinite = 1;
    }
  }

  __device__ __forceinline__ double advanced(double value, double old, double rate) const {
    return advance<First>(args.runge_kutta, value, old, rate);
  }

  /// Density, velocity and entropy.
  __device__ __forceinline__ void fluid() {
    const StencilCoefficients& stencil = args.coefficients.stencil;
    const PhysicsCoefficients& physics = args.coefficients.physics;
    constexpr int ss_index = Magnetic && !Shape::split_roles ? Shape::slot_ss : 4;
    VectorColumn<Shape, 1> u_column;
    ScalarColumn<Shape, 0> lnrho_column;
    ScalarColumn<Shape, Shape::slot_ss> ss_column;
    constexpr bool joint = Magnetic && !Shape::split_roles;
    VectorColumn<Shape, 4> a_column;
    AcrossPlanes<double> across, across_a;
    const auto arrive = [&](int at) {
      across = u_column.arrive(stencil, shared, at);
      if constexpr (joint) across_a = a_column.arrive(stencil, shared, at);
    };
    const auto warm_up = [&](int at) {
      const auto value = [&](int s) { return shared[at + s * Shape::field_stride]; };
      if constexpr (joint) a_column.push({value(4), value(5), value(6)});
      u_column.push({value(1), value(2), value(3)});
      lnrho_column.push(value(0));
      if constexpr (Entropy) ss_column.push(value(Shape::slot_ss));
    };
    const auto compute = [&](int i, const int(&plane)[R + 1], const double* old, double* next) {
      arrive(plane[R]);
      const VectorDerivatives<double> u = u_column.derivatives(stencil, shared, plane, across);
      u_column.push(u.value);
      const ScalarDerivatives<double> lnrho = lnrho_column.derivatives(stencil, shared, plane);
      lnrho_column.push(lnrho.value);
      ScalarDerivatives<double> ss{};
      if constexpr (Entropy) {
        ss = ss_column.derivatives(stencil, shared, plane);
        ss_column.push(ss.value);
      }
      MagneticForce<double> magnetic;
      Thermodynamics<double> gas;
      if constexpr (joint) {
        const VectorDerivatives<double> a = a_column.derivatives(stencil, shared, plane, across_a);
        a_column.push(a.value);
        double rate[3];
        magnetic = induction(physics, u.value, a, rate);
#pragma unroll
        for (int k = 0; k < 3; ++k) next[4 + k] = advanced(a.value[k], old[4 + k], rate[k]);
      }
      ring.release(i);
      if constexpr (Shape::split_roles) {
        wait_at_pair_barrier(2 * pair + 1);
#pragma unroll
        for (int k = 0; k < 3; ++k) magnetic.lorentz[k] = handed[k * Shape::cells];
        magnetic.current2 = handed[3 * Shape::cells];
        gas.inverse_density = handed[4 * Shape::cells];
        gas.sound_speed2 = handed[5 * Shape::cells];
        if constexpr (Entropy) gas.inverse_temperature = handed[6 * Shape::cells];
        if (i + 1 < planes) arrive_at_pair_barrier(2 * pair + 2);
      } else {
        gas = thermodynamics<Entropy>(physics, lnrho.value, ss.value);
      }
      Rates<double> rate;
      fluid_rates<Magnetic, Entropy>(physics, lnrho, u, ss, gas, magnetic, rate);
      next[0] = advanced(lnrho.value, old[0], rate.lnrho);
#pragma unroll
      for (int k = 0; k < 3; ++k) next[1 + k] = advanced(u.value[k], old[1 + k], rate.u[k]);
      if constexpr (Entropy) next[ss_index] = advanced(ss.value, old[ss_index], rate.ss);
    };
    if constexpr (Shape::split_roles)
      march<0, 4, Entropy ? Shape::slot_ss : -1>(arrive, warm_up, compute);
    else
      march<0, Shape::fields, -1>(arrive, warm_up, compute);
  }

  /// The vector potential, and what the fluid warps need of it; the exponentials.
  __device__ __forceinline__ void induction_and_gas() {
    const StencilCoefficients& stencil = args.coefficients.stencil;
    const PhysicsCoefficients& physics = args.coefficients.physics;
    VectorColumn<Shape, 4> a_column;
    AcrossPlanes<double> across;
    const auto arrive = [&](int at) { across = a_column.arrive(stencil, shared, at); };
    const auto warm_up = [&](int at) {
      const auto value = [&](int s) { return shared[at + s * Shape::field_stride]; };
      a_column.push({value(4), value(5), value(6)});
    };
    const auto compute = [&](int i, const int(&plane)[R + 1], const double* old, double* next) {
      const auto value = [&](int s) { return shared[plane[0] + s * Shape::field_stride]; };
      if (i > 2 * R) wait_at_pair_barrier(2 * pair + 2);
      {
        const Thermodynamics<double> gas =
            thermodynamics<Entropy>(physics, value(0), Entropy ? value(Shape::slot_ss) : 0.0);
        handed[4 * Shape::cells] = gas.inverse_density;
        handed[5 * Shape::cells] = gas.sound_speed2;
        if constexpr (Entropy) handed[6 * Shape::cells] = gas.inverse_temperature;
      }
      arrive(plane[R]);
      const VectorDerivatives<double> a = a_column.derivatives(stencil, shared, plane, across);
      a_column.push(a.value);
      const double u[3] = {value(1), value(2), value(3)};
      ring.release(i);
      double rate[3];
      const MagneticForce<double> magnetic = induction(physics, u, a, rate);
#pragma unroll
      for (int k = 0; k < 3; ++k) handed[k * Shape::cells] = magnetic.lorentz[k];
      handed[3 * Shape::cells] = magnetic.current2;
      arrive_at_pair_barrier(2 * pair + 1);
#pragma unroll
      for (int k = 0; k < 3; ++k) next[k] = advanced(a.value[k], old[k], rate[k]);
    };
    march<4, 3, -1>(arrive, warm_up, compute);
  }
};

template <int R, bool Magnetic, bool Entropy, bool Tensor, bool First>
__global__ void __launch_bounds__(SubstepShape<R, Magnetic, Entropy, Tensor>::threads, 1)
    substep_kernel(const __grid_constant__ SubstepArguments args, const __grid_constant__ CUtensorMap load,
                   const __grid_constant__ CUtensorMap previous) {
  using Block = SubstepBlock<R, Magnetic, Entropy, Tensor, First>;
  using Shape = typename Block::Shape;
#if __CUDA_ARCH__ >= 900
  constexpr bool compiled = true;
#else
  constexpr bool compiled = !Tensor;
#endif
  if constexpr (compiled) {
    extern __shared__ __align__(128) double shared[];
    __shared__ typename Block::Ring::Shared ring_barriers;

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bool induction_role = Shape::split_roles && warp >= Shape::cell_warps;
    const int cell_warp = induction_role ? warp - Shape::cell_warps : warp;
    const int in_tile = cell_warp * 32 + lane;
    const int tx = in_tile % Shape::tile_x, ty = in_tile / Shape::tile_x;

    unsigned block = blockIdx.x;
    const int tile_x = block % args.tiles.x;
    block /= args.tiles.x;
    const int tile_y = block % args.tiles.y;
    const int z0 = args.region.lower.z + block / args.tiles.y * args.chunk;
    const int planes = min(args.chunk, args.region.upper.z - z0) + 2 * R;
    // Tiles start at multiples of 4 cells, where rows are aligned.
    const int x0 = (args.region.lower.x & ~3) + tile_x * Shape::tile_x;
    const int y0 = args.region.lower.y + tile_y * Shape::tile_y;

    typename Block::Ring ring(shared, ring_barriers, args.fields, {x0 - Shape::halo_x, y0 - R, z0 - R, planes}, load,
                              previous);
    __syncthreads();
    ring.start();

    Block b{args,
            shared,
            shared + Shape::hand_over_offset + in_tile,
            cell_warp,
            ring,
            {args.fields, args.region, x0 + tx, y0 + ty},
            (ty + R) * Shape::padded_x + tx + Shape::halo_x,
            planes,
            z0};
    if (!induction_role) {
      b.fluid();
    } else if constexpr (Shape::split_roles) {
      b.induction_and_gas();
    }
  }
}

template <int R, bool Magnetic, bool Entropy, bool Tensor>
SubstepKernel make_substep_kernel() {
  using Shape = SubstepShape<R, Magnetic, Entropy, Tensor>;
  SubstepKernel k;
  k.shape = {Shape::tile_x, Shape::tile_y,  Shape::padded_x,     Shape::padded_y,
             Shape::halo_x, Shape::threads, Shape::shared_bytes, Tensor};
  k.launch = [](const SubstepArguments& args, const CUtensorMap& load, const CUtensorMap& previous, bool first,
                cudaStream_t stream) {
    const auto kernel = first ? &substep_kernel<R, Magnetic, Entropy, Tensor, true>
                              : &substep_kernel<R, Magnetic, Entropy, Tensor, false>;
    const unsigned blocks = static_cast<unsigned>(args.tiles.product());
    kernel<<<blocks, Shape::threads, Shape::shared_bytes, stream>>>(args, load, previous);
    check_launch("substep");
  };
  k.prepare = [] {
    for (const auto kernel :
         {&substep_kernel<R, Magnetic, Entropy, Tensor, true>, &substep_kernel<R, Magnetic, Entropy, Tensor, false>})
      check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(Shape::shared_bytes)),
                 "cudaFuncSetAttribute(shared memory of the substep kernel)");
  };
  return k;
}

template <int R>
SubstepKernel substep_kernel_of_radius(FieldSet f, bool tensor) {
  const auto with = [&]<bool Tensor>() {
    if (f.magnetic)
      return f.entropy ? make_substep_kernel<R, true, true, Tensor>() : make_substep_kernel<R, true, false, Tensor>();
    return f.entropy ? make_substep_kernel<R, false, true, Tensor>() : make_substep_kernel<R, false, false, Tensor>();
  };
  return tensor ? with.template operator()<true>() : with.template operator()<false>();
}

}  // namespace mhd::gpu
