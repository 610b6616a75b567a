#pragma once
// The ring of planes in shared memory that a marching block reads: all fields of a padded tile, plane by plane.
// Two ways to fill it, with one interface:
//   acquire(i, ...)  waits until plane i (counted from the first) is there
//   release(i)       this warp has finished iteration i
// In iteration i the planes i - R .. i are read from iteration 2R on, before that only plane i.

#include <cuda.h>

#include <cstdint>

#include "gpu/substep.hpp"

namespace mhd::gpu {

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// A barrier in shared memory: warps arrive, others wait for a phase. Waiting also acquires what was written before.
struct Barrier {
  std::uint64_t state;

  __device__ __forceinline__ void init(int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&state)), "r"(count) : "memory");
  }
  __device__ __forceinline__ void arrive() {
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(shared_address(&state)) : "memory");
  }
  /// Waits until phase number n (0, 1, ...) is complete.
  __device__ __forceinline__ void wait(int n) {
    const std::uint32_t parity = n & 1;
    std::uint32_t done;
    do {
#if __CUDA_ARCH__ >= 900
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(shared_address(&state)), "r"(parity)
                   : "memory");
#else
      // Older devices lack the wait by parity of try_wait, but have the test.
      asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(shared_address(&state)), "r"(parity)
                   : "memory");
#endif
    } while (!done);
  }
};

/// What a block fetches: the padded tile's first cell, and planes first_plane ... of the subdomain.
struct TileOrigin {
  int x = 0, y = 0;  ///< first cell of the padded tile, local coordinates
  int first_plane = 0;
  int planes = 0;  ///< arriving planes
};

/// Index of a plane in memory, counted from plane 0 of the interior.
__device__ __forceinline__ int stored_plane(const FieldPointers& f, int z) {
  if (!f.wrap_z || (z >= 0 && z < f.cells.z)) return z;
  const int m = z % f.cells.z;
  return m < 0 ? m + f.cells.z : m;
}

/// Filled by the tensor memory accelerator: one instruction of one thread per plane.
template <class Shape>
class TensorRing {
 public:
  static constexpr int slots = Shape::slots;
  struct Shared {
    Barrier full[slots], empty[slots];
  };

  __device__ TensorRing(double* data, Shared& shared, const FieldPointers& fields, const TileOrigin& tile,
                        const CUtensorMap& load, const CUtensorMap& previous, bool producer)
      : data_(data),
        shared_(shared),
        fields_(fields),
        tile_(tile),
        load_(load),
        previous_(previous),
        producer_(producer) {
    if (producer_) {
      for (int s = 0; s < slots; ++s) {
        shared_.full[s].init(1);
        shared_.empty[s].init(Shape::warps);
      }
#if __CUDA_ARCH__ >= 900
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    }
  }
  /// After a __syncthreads that follows the construction.
  __device__ void start() {
    if (producer_)
      for (int i = 0; i < slots && i < tile_.planes; ++i) fetch(i);
  }
  template <bool Previous>
  __device__ __forceinline__ void acquire(int i) {
    constexpr int R = Shape::radius;
    if (producer_) {
      // The plane that iteration i - Delay freed makes room for another.
      const int done = i - Shape::delay;
      const int freed = done >= 2 * R ? done - R : done >= 0 && done < R ? done : -1;
      if (freed >= 0 && freed + slots < tile_.planes) {
        shared_.empty[freed % slots].wait(freed / slots);
        fetch(freed + slots);
      }
      if (Previous) prefetch_previous(i + 1);
    }
    shared_.full[i % slots].wait(i / slots);
  }
  __device__ __forceinline__ void release(int i) {
    constexpr int R = Shape::radius;
    const int freed = i >= 2 * R ? i - R : i < R ? i : -1;
    __syncwarp();
    if (freed >= 0 && threadIdx.x % 32 == 0) shared_.empty[freed % slots].arrive();
  }

 private:
  __device__ __forceinline__ void fetch(int i) {
#if __CUDA_ARCH__ >= 900
    const int slot = i % slots;
    const std::uint32_t barrier = shared_address(&shared_.full[slot].state);
    asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" ::"r"(barrier),
                 "r"(Shape::plane_bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
        "%6}], [%2];" ::"r"(shared_address(data_ + slot * Shape::slot_size)),
        "l"(&load_), "r"(barrier), "r"(tile_.x + Layout::left), "r"(tile_.y - fields_.first_row), "r"(memory_plane(i)),
        "r"(0)
        : "memory");
#endif
  }
  /// Brings the previous state of the tile into the second-level cache before it is read.
  __device__ __forceinline__ void prefetch_previous(int i) {
#if __CUDA_ARCH__ >= 900
    if (i < 2 * Shape::radius || i >= tile_.planes) return;
    asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(&previous_),
                 "r"(tile_.x + Shape::halo_x + Layout::left), "r"(tile_.y + Shape::radius - fields_.first_row),
                 "r"(memory_plane(i - Shape::radius)), "r"(0)
                 : "memory");
#endif
  }
  /// Counted from the first plane in memory.
  __device__ __forceinline__ int memory_plane(int i) const {
    const int z = tile_.first_plane + i;
    return fields_.wrap_z ? stored_plane(fields_, z) : z + Shape::radius;
  }

  double* data_;
  Shared& shared_;
  const FieldPointers& fields_;
  TileOrigin tile_;
  const CUtensorMap& load_;
  const CUtensorMap& previous_;
  bool producer_;
};

/// Filled by asynchronous copies of 16 bytes by every thread, one plane ahead.
template <class Shape>
class CopyRing {
 public:
  static constexpr int slots = Shape::slots;
  struct Shared {
    Barrier unused;
  };

  __device__ CopyRing(double* data, Shared&, const FieldPointers& fields, const TileOrigin& tile, const CUtensorMap&,
                      const CUtensorMap&, bool)
      : data_(data), fields_(fields), tile_(tile) {}
  __device__ void start() { fetch(0); }
  template <bool Previous>
  __device__ __forceinline__ void acquire(int i) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();  // the copies of all threads are there, and all warps are done with the plane that makes room
    if (i + 1 < tile_.planes) fetch(i + 1);
  }
  __device__ __forceinline__ void release(int) {}

 private:
  __device__ __forceinline__ void fetch(int i) {
    constexpr int chunks = Shape::padded_x / 2;  // of 16 bytes per row
    double* slot = data_ + (i % slots) * Shape::slot_size;
    const double* plane =
        fields_.in + static_cast<std::int64_t>(stored_plane(fields_, tile_.first_plane + i)) * fields_.stride_z;
    for (int n = threadIdx.x; n < chunks * Shape::padded_y; n += Shape::threads) {
      const int row = n / chunks, column = n % chunks * 2;
      // What overhangs the subdomain is read by no valid cell: any address of the field will do.
      const int y = max(fields_.first_row, min(tile_.y + row, fields_.last_row - 1));
      const int x = min(tile_.x + column, static_cast<int>(fields_.stride_y) - Layout::left - 2);
      const double* from = plane + y * fields_.stride_y + x;
      const std::uint32_t to = shared_address(slot + row * Shape::padded_x + column);
#pragma unroll
      for (int f = 0; f < Shape::fields; ++f)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         to + f * static_cast<std::uint32_t>(Shape::field_stride * sizeof(double))),
                     "l"(from + f * fields_.stride_field)
                     : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }

  double* data_;
  const FieldPointers& fields_;
  TileOrigin tile_;
};

}  // namespace mhd::gpu
