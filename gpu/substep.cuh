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
  static constexpr int tile_x = R == 4 && Magnetic ? 16 : 32;
  static constexpr int tile_y = R == 4 && Magnetic ? (Tensor ? 16 : 8) : Tensor ? 8 : 4;
  static constexpr int halo_x = R <= 2 ? 2 : 4;  // 16-byte aligned
  static constexpr int padded_x = tile_x + 2 * halo_x, padded_y = tile_y + 2 * R;
  static constexpr int field_stride = padded_x * padded_y;  // doubles
  static constexpr int plane_bytes = fields * field_stride * static_cast<int>(sizeof(double));
  static constexpr int slot_size = (plane_bytes + 127) / 128 * 16;  // doubles
  static constexpr int cells = tile_x * tile_y, cell_warps = cells / 32;
  static constexpr int warps = cell_warps * (Magnetic ? 2 : 1), threads = warps * 32;
  // Induction warps also do the exponentials where the hand-over buffer has room for the results.
  static constexpr bool gas_by_induction = Magnetic && R < 4;
  static constexpr int handed_over = Magnetic ? (gas_by_induction ? 7 : 4) : 0;
  static constexpr int hand_over_slots = R == 4 ? 1 : 2;
  static constexpr int hand_over_size = handed_over * cells;  // doubles
  static constexpr int limit = Tensor ? 226 * 1024 : 160 * 1024;
  static constexpr int slots_that_fit = (limit - hand_over_slots * hand_over_size * 8) / (slot_size * 8);
  static constexpr int slots = !Tensor ? R + 2 : slots_that_fit < R + 4 ? slots_that_fit : R + 4;
  static_assert(slots >= R + 2);
  static constexpr int delay = slots >= R + 3 ? 2 : 1;
  static constexpr std::size_t ring_bytes = std::size_t{8} * slots * slot_size;
  static constexpr std::size_t shared_bytes = ring_bytes + std::size_t{8} * hand_over_slots * hand_over_size;
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

/// Where a thread's cell is stored, and the copies of it in the halo of a periodic axis.
class CellStore {
 public:
  __device__ CellStore(const FieldPointers& f, const Box& region, int x, int y, int radius) : f_(f), x_(x), y_(y) {
    valid_ = x >= region.lower.x && x < region.upper.x && y >= region.lower.y && y < region.upper.y;
    near_ = valid_ && ((f.image_x && (x < radius || x >= f.cells.x - radius)) ||
                       (f.image_y && (y < radius || y >= f.cells.y - radius)));
    offset_ = y * f.stride_y + x;
  }
  __device__ __forceinline__ bool valid() const { return valid_; }
  /// Start of slot 0 of the cell in plane z, to be offset by slot * stride_field.
  __device__ __forceinline__ double* cell(int z) const { return f_.out + offset_ + z * f_.stride_z; }

  template <int N>
  __device__ __forceinline__ void store(int z, const int (&slot)[N], const double (&value)[N], int radius) const {
    if (!valid_) return;
    double* p = cell(z);
#pragma unroll
    for (int i = 0; i < N; ++i) p[slot[i] * f_.stride_field] = value[i];
    if (near_) store_images(p, slot, value, radius);
  }

 private:
  template <int N>
  __device__ __forceinline__ void store_images(double* p, const int (&slot)[N], const double (&value)[N],
                                               int radius) const {
    // All m with -radius <= x + m nx < nx + radius.
    const int nx = f_.cells.x, ny = f_.cells.y;
    const int x0 = f_.image_x ? -((x_ + radius) / nx) : 0, x1 = f_.image_x ? (nx + radius - 1 - x_) / nx : 0;
    const int y0 = f_.image_y ? -((y_ + radius) / ny) : 0, y1 = f_.image_y ? (ny + radius - 1 - y_) / ny : 0;
    for (int m = y0; m <= y1; ++m)
      for (int l = x0; l <= x1; ++l) {
        double* q = p + std::int64_t{m} * ny * f_.stride_y + std::int64_t{l} * nx;
        if (q == p) continue;
#pragma unroll
        for (int i = 0; i < N; ++i) q[slot[i] * f_.stride_field] = value[i];
      }
  }

  const FieldPointers& f_;
  int x_, y_;
  std::int64_t offset_;
  bool valid_, near_;
};

/// Largest biased exponent field seen: 0x7ff00000 and above for values that are not finite.
__device__ __forceinline__ void watch(unsigned& largest, double value) {
  largest = max(largest, static_cast<unsigned>(__double2hiint(value)) & 0x7fffffffu);
}

template <int R, bool Magnetic, bool Entropy, bool Tensor, bool First>
__global__ void __launch_bounds__(SubstepShape<R, Magnetic, Entropy, Tensor>::threads, 1)
    substep_kernel(const __grid_constant__ SubstepArguments args, const __grid_constant__ CUtensorMap load,
                   const __grid_constant__ CUtensorMap previous) {
  using Shape = SubstepShape<R, Magnetic, Entropy, Tensor>;
  using Ring = std::conditional_t<Tensor, TensorRing<Shape>, CopyRing<Shape>>;
#if __CUDA_ARCH__ >= 900
  constexpr bool compiled = true;
#else
  constexpr bool compiled = !Tensor;
#endif
  if constexpr (compiled) {
    extern __shared__ __align__(128) double shared[];
    __shared__ typename Ring::Shared ring_barriers;
    struct HandOver {
      Barrier full[Shape::hand_over_slots], empty[Shape::hand_over_slots];
    };
    __shared__ HandOver hand_over[Magnetic ? Shape::cell_warps : 1];

    const FieldPointers& fields = args.fields;
    const StencilCoefficients& stencil = args.coefficients.stencil;
    const PhysicsCoefficients& physics = args.coefficients.physics;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bool induction_role = Magnetic && warp >= Shape::cell_warps;
    const int cell_warp = induction_role ? warp - Shape::cell_warps : warp;
    const int in_tile = cell_warp * 32 + lane;
    const int tx = in_tile % Shape::tile_x, ty = in_tile / Shape::tile_x;

    int block = blockIdx.x;
    const int tile_x = block % args.tiles.x;
    block /= args.tiles.x;
    const int tile_y = block % args.tiles.y;
    const int chunk = block / args.tiles.y;
    const int z0 = args.region.lower.z + chunk * args.chunk;
    const int z1 = min(z0 + args.chunk, args.region.upper.z);
    // Tiles start at multiples of 4 cells, where rows are aligned.
    const int x0 = (args.region.lower.x & ~3) + tile_x * Shape::tile_x;
    const int y0 = args.region.lower.y + tile_y * Shape::tile_y;
    const TileOrigin tile{x0 - Shape::halo_x, y0 - R, z0 - R, z1 - z0 + 2 * R};

    constexpr int producer_warp = Magnetic ? Shape::cell_warps : 0;
    Ring ring(shared, ring_barriers, fields, tile, load, previous, threadIdx.x == producer_warp * 32);
    if (Magnetic && threadIdx.x < Shape::cell_warps)
      for (int s = 0; s < Shape::hand_over_slots; ++s) {
        hand_over[threadIdx.x].full[s].init(1);
        hand_over[threadIdx.x].empty[s].init(1);
      }
    __syncthreads();
    ring.start();

    const CellStore target(fields, args.region, x0 + tx, y0 + ty, R);
    const int own = (ty + R) * Shape::padded_x + tx + Shape::halo_x;
    double* const handed = shared + Shape::ring_bytes / 8 + in_tile;
    unsigned largest = 0;
    int slot = 0;  // of the plane that arrives
    const auto planes_from = [&](int(&plane)[R + 1]) {
#pragma unroll
      for (int k = 0; k <= R; ++k) {
        const int s = slot - R + k;
        plane[k] = (s < 0 ? s + Shape::slots : s) * Shape::slot_size + own;
      }
    };
    const auto next_slot = [&] { slot = slot + 1 == Shape::slots ? 0 : slot + 1; };
    const auto load_previous = [&](int z, auto& old, const auto& slots) {
      if constexpr (!First) {
        constexpr int count = sizeof(slots) / sizeof(int);
        const double* p = target.cell(z);
#pragma unroll
        for (int i = 0; i < count; ++i) old[i] = target.valid() ? p[slots[i] * fields.stride_field] : 0.0;
      }
    };

    if (!induction_role) {
      VectorColumn<Shape, 1> u_column;
      ScalarColumn<Shape, 0> lnrho_column;
      ScalarColumn<Shape, Shape::slot_ss> ss_column;
      constexpr int count = Entropy ? 5 : 4;
      for (int i = 0; i < tile.planes; ++i) {
        ring.template acquire<!First>(i);
        const int arrived = slot * Shape::slot_size + own;
        const AcrossPlanes<double> across = u_column.arrive(stencil, shared, arrived);
        if (i < 2 * R) {
          if (i < R) {
            const auto value = [&](int s) { return shared[arrived + s * Shape::field_stride]; };
            u_column.push({value(1), value(2), value(3)});
            lnrho_column.push(value(0));
            if constexpr (Entropy) ss_column.push(value(Shape::slot_ss));
          }
          ring.release(i);
          next_slot();
          continue;
        }
        const int z = z0 + i - 2 * R;
        int slots[count];
        slots[0] = 0, slots[1] = 1, slots[2] = 2, slots[3] = 3;
        if constexpr (Entropy) slots[4] = Shape::slot_ss;
        double old[count];
        load_previous(z, old, slots);
        int plane[R + 1];
        planes_from(plane);
        const VectorDerivatives<double> u = u_column.derivatives(stencil, shared, plane, across);
        u_column.push(u.value);
        const ScalarDerivatives<double> lnrho = lnrho_column.derivatives(stencil, shared, plane);
        lnrho_column.push(lnrho.value);
        ScalarDerivatives<double> ss{};
        if constexpr (Entropy) {
          ss = ss_column.derivatives(stencil, shared, plane);
          ss_column.push(ss.value);
        }
        ring.release(i);
        next_slot();

        MagneticForce<double> magnetic;
        Thermodynamics<double> gas;
        if constexpr (Magnetic) {
          const int n = i - 2 * R, s = n % Shape::hand_over_slots;
          HandOver& pair = hand_over[cell_warp];
          pair.full[s].wait(n / Shape::hand_over_slots);
          const double* p = handed + s * Shape::hand_over_size;
#pragma unroll
          for (int k = 0; k < 3; ++k) magnetic.lorentz[k] = p[k * Shape::cells];
          magnetic.current2 = p[3 * Shape::cells];
          if constexpr (Shape::gas_by_induction) {
            gas.inverse_density = p[4 * Shape::cells];
            gas.sound_speed2 = p[5 * Shape::cells];
            gas.inverse_temperature = p[6 * Shape::cells];
          }
          __syncwarp();
          if (lane == 0) pair.empty[s].arrive();
        }
        if constexpr (!Shape::gas_by_induction) gas = thermodynamics<Entropy>(physics, lnrho.value, ss.value);
        Rates<double> rate;
        fluid_rates<Magnetic, Entropy>(physics, lnrho, u, ss, gas, magnetic, rate);
        double next[count];
        next[0] = advance<First>(args.runge_kutta, lnrho.value, old[0], rate.lnrho);
#pragma unroll
        for (int k = 0; k < 3; ++k) next[1 + k] = advance<First>(args.runge_kutta, u.value[k], old[1 + k], rate.u[k]);
        if constexpr (Entropy) next[4] = advance<First>(args.runge_kutta, ss.value, old[4], rate.ss);
        if constexpr (!First) {
#pragma unroll
          for (int k = 0; k < count; ++k) watch(largest, next[k]);
        }
        target.store(z, slots, next, R);
      }
    }
    if constexpr (Magnetic) {
      if (induction_role) {
        VectorColumn<Shape, 4> a_column;
        for (int i = 0; i < tile.planes; ++i) {
          ring.template acquire<!First>(i);
          const int arrived = slot * Shape::slot_size + own;
          const AcrossPlanes<double> across = a_column.arrive(stencil, shared, arrived);
          if (i < 2 * R) {
            const auto value = [&](int s) { return shared[arrived + s * Shape::field_stride]; };
            if (i < R) a_column.push({value(4), value(5), value(6)});
            ring.release(i);
            next_slot();
            continue;
          }
          const int z = z0 + i - 2 * R;
          const int slots[3] = {4, 5, 6};
          double old[3];
          load_previous(z, old, slots);
          int plane[R + 1];
          planes_from(plane);
          const auto value = [&](int s) { return shared[plane[0] + s * Shape::field_stride]; };
          const double u[3] = {value(1), value(2), value(3)};
          Thermodynamics<double> gas;
          if constexpr (Shape::gas_by_induction)
            gas = thermodynamics<Entropy>(physics, value(0), Entropy ? value(Shape::slot_ss) : 0.0);
          const VectorDerivatives<double> a = a_column.derivatives(stencil, shared, plane, across);
          a_column.push(a.value);
          ring.release(i);
          next_slot();

          double rate[3];
          const MagneticForce<double> magnetic = induction(physics, u, a, rate);
          const int n = i - 2 * R, s = n % Shape::hand_over_slots;
          HandOver& pair = hand_over[cell_warp];
          if (n >= Shape::hand_over_slots) pair.empty[s].wait(n / Shape::hand_over_slots - 1);
          double* p = handed + s * Shape::hand_over_size;
#pragma unroll
          for (int k = 0; k < 3; ++k) p[k * Shape::cells] = magnetic.lorentz[k];
          p[3 * Shape::cells] = magnetic.current2;
          if constexpr (Shape::gas_by_induction) {
            p[4 * Shape::cells] = gas.inverse_density;
            p[5 * Shape::cells] = gas.sound_speed2;
            if constexpr (Entropy) p[6 * Shape::cells] = gas.inverse_temperature;
          }
          __syncwarp();
          if (lane == 0) pair.full[s].arrive();

          double next[3];
#pragma unroll
          for (int k = 0; k < 3; ++k) next[k] = advance<First>(args.runge_kutta, a.value[k], old[k], rate[k]);
          if constexpr (!First) {
#pragma unroll
            for (int k = 0; k < 3; ++k) watch(largest, next[k]);
          }
          target.store(z, slots, next, R);
        }
      }
    }
    if constexpr (!First) {
      if (target.valid() && largest >= 0x7ff00000u) *args.nonfinite = 1;
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
