#pragma once
// The ring of planes in shared memory that a marching block reads: all fields of a padded tile, plane by plane.
// Two ways to fill it, with one interface:
//   acquire(i)  waits until plane i (counted from the first) is there
//   release(i)  this warp has read what it needs in iteration i
// In iteration i the planes i - R .. i are read from iteration 2R on, before that only plane i.

#include <cuda.h>

#include <cstdint>

#include "gpu/substep.hpp"

namespace mhd::gpu {

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// A barrier in shared memory on which copies complete.
struct Barrier {
  std::uint64_t state;

  __device__ __forceinline__ void init(int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&state)), "r"(count) : "memory");
  }
  /// Waits until the phase of this parity is complete: 0 for the first, then in turn.
  __device__ __forceinline__ void wait(std::uint32_t parity) {
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

/// A hardware barrier of the two warps of a pair: one arrives and goes on, the other waits for it.
__device__ __forceinline__ void arrive_at_pair_barrier(int id) {
  asm volatile("bar.arrive %0, 64;" ::"r"(id) : "memory");
}
__device__ __forceinline__ void wait_at_pair_barrier(int id) { asm volatile("bar.sync %0, 64;" ::"r"(id) : "memory"); }

/// What a block fetches: the padded tile's first cell, and planes first_plane ... of the subdomain.
struct TileOrigin {
  int x = 0, y = 0;  ///< first cell of the padded tile, local coordinates
  int first_plane = 0;
  int planes = 0;  ///< arriving planes
};

/// Index of a plane in memory, counted from plane 0 of the interior.
__device__ __forceinline__ int stored_plane(const FieldPointers& f, int z) {
  if (!f.wrap_z) return z;
#pragma unroll 1
  while (z < 0) z += f.cells.z;
#pragma unroll 1
  while (z >= f.cells.z) z -= f.cells.z;
  return z;
}

/// A place in a ring of slots and the parity of its present turn.
template <int Slots>
struct RingPosition {
  int slot = 0;
  std::uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++slot == Slots) {
      slot = 0;
      parity ^= 1;
    }
  }
};

/// Filled by the tensor memory accelerator: one instruction of one thread per plane. The warp that is the last to
/// finish with a plane fetches the next one into its place, at once.
template <class Shape, bool Previous>
class TensorRing {
 public:
  static constexpr int slots = Shape::slots;
  struct Shared {
    Barrier full[slots];
    unsigned finished[slots];  ///< warps that have
  };

  /// Followed by a __syncthreads and `start`.
  __device__ TensorRing(double* data, Shared& shared, const FieldPointers& fields, const TileOrigin& tile,
                        const CUtensorMap& load, const CUtensorMap& previous)
      : data_(data), shared_(shared), fields_(fields), tile_(tile), load_(load), previous_(previous) {
    if (threadIdx.x != 0) return;
    for (int s = 0; s < slots; ++s) {
      shared_.full[s].init(1);
      shared_.finished[s] = 0;
    }
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
  }
  __device__ __forceinline__ void start() {
    if (threadIdx.x != 0) return;
#pragma unroll 1
    for (int i = 0; i < slots && i < tile_.planes; ++i) fetch(i, i);
  }
  __device__ __forceinline__ void acquire(int) { shared_.full[place_.slot].wait(place_.parity); }
  __device__ __forceinline__ int slot() const { return place_.slot; }
  __device__ __forceinline__ void release(int i) {
    constexpr int R = Shape::radius;
    const int oldest = place_.slot - R;
    const int freed = i < R ? place_.slot : oldest < 0 ? oldest + slots : oldest;
    const int next = (i < R ? i : i - R) + slots;  // plane
    __syncwarp();
    if ((i < R || i >= 2 * R) && next < tile_.planes && threadIdx.x % 32 == 0 && last_to_finish(freed)) {
      fetch(next, freed);
      if (Previous) prefetch_previous(i + 3);
    }
    place_.advance();
  }

 private:
  __device__ __forceinline__ bool last_to_finish(int slot) {
    unsigned before;
    asm volatile("atom.acq_rel.cta.shared.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "r"(shared_address(&shared_.finished[slot])), "r"(Shape::warps - 1)
                 : "memory");
    return before == Shape::warps - 1;
  }
  __device__ __forceinline__ int memory_plane(int i) const {
    const int z = tile_.first_plane + i;
    return fields_.wrap_z ? stored_plane(fields_, z) : z + Shape::radius;
  }
  __device__ __forceinline__ void fetch(int i, int slot) {
#if __CUDA_ARCH__ >= 900
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
  /// Brings the previous state of the cells that iteration i computes into the second-level cache.
  __device__ __forceinline__ void prefetch_previous(int i) {
#if __CUDA_ARCH__ >= 900
    if (i < 2 * Shape::radius || i >= tile_.planes) return;
    asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(&previous_),
                 "r"(tile_.x + Shape::halo_x + Layout::left), "r"(tile_.y + Shape::radius - fields_.first_row),
                 "r"(memory_plane(i - Shape::radius)), "r"(0)
                 : "memory");
#endif
  }

  double* data_;
  Shared& shared_;
  const FieldPointers& fields_;
  TileOrigin tile_;
  const CUtensorMap& load_;
  const CUtensorMap& previous_;
  RingPosition<slots> place_;
};

/// Filled by asynchronous copies of 16 bytes by every thread, one plane ahead.
template <class Shape, bool Previous>
class CopyRing {
 public:
  static constexpr int slots = Shape::slots;
  struct Shared {};

  __device__ CopyRing(double* data, Shared&, const FieldPointers& fields, const TileOrigin& tile, const CUtensorMap&,
                      const CUtensorMap&)
      : data_(data), fields_(fields), tile_(tile) {}
  __device__ __forceinline__ void start() { fetch(0); }
  __device__ __forceinline__ void acquire(int i) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();  // the copies of all threads are there, and all warps are done with the plane that makes room
    if (i + 1 < tile_.planes) fetch(i + 1);
  }
  __device__ __forceinline__ int slot() const { return place_.slot; }
  __device__ __forceinline__ void release(int) { place_.advance(); }

 private:
  __device__ __forceinline__ void fetch(int i) {
    constexpr int chunks = Shape::padded_x / 2;  // of 16 bytes per row
    const double* from =
        fields_.in + static_cast<std::int64_t>(stored_plane(fields_, tile_.first_plane + i)) * fields_.stride_z;
    for (int n = threadIdx.x; n < chunks * Shape::padded_y; n += Shape::threads) {
      const int row = n / chunks, column = n % chunks * 2;
      // What overhangs the subdomain is read by no valid cell: any address of the field will do.
      const int y = max(fields_.first_row, min(tile_.y + row, fields_.last_row - 1));
      const int x = min(tile_.x + column, static_cast<int>(fields_.stride_y) - Layout::left - 2);
      const double* source = from + y * fields_.stride_y + x;
      const std::uint32_t target =
          shared_address(data_ + fill_.slot * Shape::slot_size + row * Shape::padded_x + column);
#pragma unroll
      for (int f = 0; f < Shape::fields; ++f)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         target + f * static_cast<std::uint32_t>(Shape::field_stride * sizeof(double))),
                     "l"(source + f * fields_.stride_field)
                     : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    fill_.advance();
  }

  double* data_;
  const FieldPointers& fields_;
  TileOrigin tile_;
  RingPosition<slots> place_, fill_;
};

}  // namespace mhd::gpu
