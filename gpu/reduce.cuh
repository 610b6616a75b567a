#pragma once
// The kernels behind gpu/reduce.hpp.

#include <algorithm>

#include "core/courant.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/plane_ring.cuh"
#include "gpu/reduce.hpp"

namespace mhd::gpu {

/// Reads a field around a cell from device memory; planes by their place in memory.
template <int R>
struct GlobalAround {
  const double* row;  ///< the cell in plane 0
  std::int64_t stride_y;
  const std::int64_t (&plane)[2 * R + 1];
  __device__ __forceinline__ double operator()(int i, int j, int k) const {
    return __ldg(row + plane[k + R] + j * stride_y + i);
  }
};

/// The same with the values above and below the cell in registers.
template <int R>
struct ColumnAround {
  const double* cell;
  std::int64_t stride_y;
  const double (&column)[2 * R + 1];
  __device__ __forceinline__ double operator()(int i, int j, int k) const {
    return i == 0 && j == 0 ? column[k + R] : __ldg(cell + j * stride_y + i);
  }
};

/// A value that is read once: it is not to drive others out of the first-level cache.
__device__ __forceinline__ double load_once(const double* p) {
  double value;
  asm("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(value) : "l"(p));
  return value;
}

constexpr int courant_x = 32, courant_y = 16;

/// Blocks march columns of cells in z. One block per multiprocessor is enough for the launch bounds: with registers to
/// spare the compiler keeps more loads in flight (0.022 against 0.029 ns per cell on an H200).
template <int R, bool Magnetic, bool Entropy>
__global__ void __launch_bounds__(courant_x* courant_y, 1)
    courant_kernel(const __grid_constant__ Coefficients c, const __grid_constant__ FieldPointers f, const Box cells,
                   int tiles_x, int tiles_y, int chunk, ReductionResults* results) {
  constexpr int slot_ss = FieldSet{Magnetic, Entropy}.slot(Field::ss);
  const int tile_x = blockIdx.x % tiles_x, tile_y = blockIdx.x / tiles_x % tiles_y;
  const int x = cells.lower.x + tile_x * courant_x + threadIdx.x, y = cells.lower.y + tile_y * courant_y + threadIdx.y;
  const int z0 = cells.lower.z + blockIdx.x / tiles_x / tiles_y * chunk, z1 = min(z0 + chunk, cells.upper.z);
  unsigned long long largest = 0;
  if (x < cells.upper.x && y < cells.upper.y) {
    const double* column = f.in + y * f.stride_y + x;
    const auto at = [&](int slot, int z) { return column + slot * f.stride_field + stored_plane(f, z) * f.stride_z; };
    double ax[2 * R + 1], ay[2 * R + 1], az[2 * R + 1];
    if constexpr (Magnetic) {
#pragma unroll
      for (int k = 1; k <= 2 * R; ++k) {
        ax[k] = __ldg(at(4, z0 + k - R - 1));
        ay[k] = __ldg(at(5, z0 + k - R - 1));
        az[k] = 0;
      }
    }
    const double* own = column + z0 * f.stride_z;
    int ahead = stored_plane(f, z0 + R);
    for (int z = z0; z < z1; ++z, own += f.stride_z) {
      double u[3], b[3] = {0, 0, 0};
      const double lnrho = load_once(own);
#pragma unroll
      for (int i = 0; i < 3; ++i) u[i] = load_once(own + (1 + i) * f.stride_field);
      const double ss = Entropy ? load_once(own + slot_ss * f.stride_field) : 0.0;
      if constexpr (Magnetic) {
#pragma unroll
        for (int k = 0; k < 2 * R; ++k) {
          ax[k] = ax[k + 1];
          ay[k] = ay[k + 1];
        }
        const double* above = column + ahead * f.stride_z;
        ax[2 * R] = __ldg(above + 4 * f.stride_field);
        ay[2 * R] = __ldg(above + 5 * f.stride_field);
        ahead = f.wrap_z && ahead + 1 == f.cells.z ? 0 : ahead + 1;
        double g[3][3];
        // The z derivative of a_z is not part of the curl.
        gradient<R>(c.stencil, ColumnAround<R>{own + 4 * f.stride_field, f.stride_y, ax}, g[0]);
        gradient<R>(c.stencil, ColumnAround<R>{own + 5 * f.stride_field, f.stride_y, ay}, g[1]);
        gradient<R>(c.stencil, ColumnAround<R>{own + 6 * f.stride_field, f.stride_y, az}, g[2]);
        curl(g, b);
#pragma unroll
        for (int i = 0; i < 3; ++i) b[i] = b[i] + c.physics.external_field[i];
      }
      const double rate2 = courant_rate2<Magnetic, Entropy>(c.physics, c.courant, lnrho, ss, u, b);
      largest = max(largest, static_cast<unsigned long long>(__double_as_longlong(rate2)));
    }
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
  __shared__ unsigned long long of_warp[courant_y];
  if (threadIdx.x == 0) of_warp[threadIdx.y] = largest;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    for (int w = 1; w < courant_y; ++w) largest = max(largest, of_warp[w]);
    atomicMax(&results->courant_bits, largest);
  }
}

constexpr int run = 256;            ///< cells of a block's turn
constexpr int per_lane = run / 32;  ///< values of one sum that a lane holds

/// Adds a warp's values to the limbs of one exact sum, which only this warp touches (core/exact_sum.cpp).
__device__ inline void add_exactly(double (&v)[per_lane], long long* limbs) {
  constexpr int bits = ExactSum::limb_bits, top = ExactSum::top_exponent;
  const auto warp_largest = [&] {
    unsigned long long m = 0;
#pragma unroll
    for (int i = 0; i < per_lane; ++i)
      m = max(m, static_cast<unsigned long long>(__double_as_longlong(v[i])) & 0x7fffffffffffffffULL);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) m = max(m, __shfl_xor_sync(0xffffffffu, m, distance));
    return m;
  };
  unsigned long long largest = warp_largest();
  const int exponent = static_cast<int>(largest >> 52) - 1022;  // largest < 2^exponent
  if (exponent > top + bits) {
    if (threadIdx.x % 32 == 0) ++limbs[ExactSum::limbs];
    return;
  }
  int limb = exponent > top ? 0 : (top - exponent) / bits + 1;
  for (; limb < ExactSum::limbs && largest > 0; ++limb) {
    const int unit = top - bits * limb;
    const auto power = [](int e) { return __hiloint2double((e + 1023) << 20, 0); };
    const double shifter = 1.5 * power(52 + unit), inverse_unit = power(-unit);
    double sum = 0;
#pragma unroll
    for (int i = 0; i < per_lane; ++i) {
      const double multiple = (v[i] + shifter) - shifter;
      v[i] -= multiple;
      sum += multiple;
    }
    long long units = static_cast<long long>(sum * inverse_unit);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) units += __shfl_xor_sync(0xffffffffu, units, distance);
    if (threadIdx.x % 32 == 0) limbs[limb] += units;
    largest = warp_largest();
  }
}

/// Makes all limbs but the first smaller than 2^limb_bits.
__device__ inline void carry(long long* limbs) {
  for (int i = ExactSum::limbs - 1; i > 0; --i) {
    const long long over = limbs[i] >> ExactSum::limb_bits;
    limbs[i] -= over << ExactSum::limb_bits;
    limbs[i - 1] += over;
  }
}

constexpr std::size_t diagnostics_shared =
    (sum_of::count * run + sum_of::count * (ExactSum::limbs + 1)) * sizeof(double);

/// Blocks take runs of cells in turn.
template <int R, bool Magnetic, bool Entropy>
__global__ void __launch_bounds__(run)
    diagnostics_kernel(const __grid_constant__ Coefficients c, const __grid_constant__ FieldPointers f, const Box cells,
                       ReductionResults* results) {
  extern __shared__ double shared[];
  double(*terms)[run] = reinterpret_cast<double(*)[run]>(shared);
  auto limbs = reinterpret_cast<long long(*)[ExactSum::limbs + 1]>(shared + sum_of::count * run);
  constexpr int slot_ss = FieldSet{Magnetic, Entropy}.slot(Field::ss);
  constexpr int warps = run / 32;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = threadIdx.x; i < sum_of::count * (ExactSum::limbs + 1); i += run) (&limbs[0][0])[i] = 0;
  __syncthreads();

  const double minus_infinity = -__longlong_as_double(0x7ff0000000000000LL);
  double maxima[max_of::count];
#pragma unroll
  for (double& m : maxima) m = minus_infinity;
  unsigned long long nonfinite = 0;
  const Int3 size = cells.size();
  const std::int64_t total = size.product();
  int turn = 0;
  for (std::int64_t first = std::int64_t{blockIdx.x} * run; first < total; first += std::int64_t{gridDim.x} * run) {
    const std::int64_t n = first + threadIdx.x;
    if (n < total) {
      const int x = cells.lower.x + static_cast<int>(n % size.x);
      const int y = cells.lower.y + static_cast<int>(n / size.x % size.y);
      const int z = cells.lower.z + static_cast<int>(n / size.x / size.y);
      std::int64_t plane[2 * R + 1];
#pragma unroll
      for (int k = -R; k <= R; ++k) plane[k + R] = stored_plane(f, z + k) * f.stride_z;
      const auto field = [&](int slot) {
        return GlobalAround<R>{f.in + slot * f.stride_field + y * f.stride_y + x, f.stride_y, plane};
      };
      double u[3], g[3][3];
      for (int i = 0; i < 3; ++i) {
        u[i] = field(1 + i)(0, 0, 0);
        gradient<R>(c.stencil, field(1 + i), g[i]);
      }
      VectorDerivatives<double> a{};
      if constexpr (Magnetic) a = vector_derivatives<R, double>(c.stencil, field(4), field(5), field(6));
      const double ss = Entropy ? field(slot_ss)(0, 0, 0) : 0.0;
      const DiagnosticTerms<double> t = diagnostic_terms<Magnetic, Entropy>(c.physics, field(0)(0, 0, 0), ss, u, g, a);
#pragma unroll
      for (int s = 0; s < sum_of::count; ++s) terms[s][threadIdx.x] = t.sums[s];
#pragma unroll
      for (int m = 0; m < max_of::count; ++m) {
        const double value = t.maxima[m] + 0.0;  // no -0, whose order is left open
        if (!isfinite(value)) ++nonfinite;
        maxima[m] = larger(maxima[m], value);
      }
    } else {
      for (int s = 0; s < sum_of::count; ++s) terms[s][threadIdx.x] = 0;
    }
    __syncthreads();
    ++turn;
    for (int s = warp; s < sum_of::count; s += warps) {
      double v[per_lane];
#pragma unroll
      for (int i = 0; i < per_lane; ++i) v[i] = terms[s][i * 32 + lane];
      add_exactly(v, limbs[s]);
      // A turn adds less than 2^(limb_bits + 8) to a limb.
      if (turn % 4096 == 0 && lane == 0) carry(limbs[s]);
    }
    __syncthreads();
  }

  if (threadIdx.x < sum_of::count) {
    long long* own = limbs[threadIdx.x];
    carry(own);
    for (int i = 0; i <= ExactSum::limbs; ++i)
      if (own[i] != 0) atomicAdd(&results->limbs[threadIdx.x][i], static_cast<unsigned long long>(own[i]));
  }
#pragma unroll
  for (int m = 0; m < max_of::count; ++m) {
    double value = maxima[m];
    for (int distance = 16; distance > 0; distance /= 2)
      value = larger(value, __shfl_xor_sync(0xffffffffu, value, distance));
    if (lane == 0) atomicMax(&results->maxima[m], order_key(__double_as_longlong(value)));
  }
  if (nonfinite > 0) atomicAdd(&results->nonfinite, nonfinite);
}

template <int R, bool Magnetic, bool Entropy>
ReductionKernels make_reduction_kernels() {
  ReductionKernels k;
  k.courant = [](const Coefficients& c, const FieldPointers& f, const Box& cells, ReductionResults* results,
                 int multiprocessors, cudaStream_t stream) {
    const Int3 n = cells.size();
    const int tiles_x = (n.x + courant_x - 1) / courant_x, tiles_y = (n.y + courant_y - 1) / courant_y;
    // Enough blocks to fill the device many times, but chunks that are long against the stencil.
    const std::int64_t columns = std::int64_t{tiles_x} * tiles_y;
    const std::int64_t wanted = std::max<std::int64_t>(1, std::int64_t{multiprocessors} * 12 / columns);
    const int chunk = static_cast<int>(std::clamp<std::int64_t>((n.z + wanted - 1) / wanted, std::min(n.z, 16), n.z));
    const std::int64_t blocks = columns * ((n.z + chunk - 1) / chunk);
    courant_kernel<R, Magnetic, Entropy><<<static_cast<unsigned>(blocks), dim3(courant_x, courant_y), 0, stream>>>(
        c, f, cells, tiles_x, tiles_y, chunk, results);
    check_launch("courant");
  };
  k.diagnostics = [](const Coefficients& c, const FieldPointers& f, const Box& cells, ReductionResults* results,
                     int multiprocessors, cudaStream_t stream) {
    const auto kernel = &diagnostics_kernel<R, Magnetic, Entropy>;
    check_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(diagnostics_shared)),
        "cudaFuncSetAttribute(shared memory of the diagnostics kernel)");
    const std::int64_t turns = (cells.volume() + run - 1) / run;
    const unsigned blocks = static_cast<unsigned>(std::min<std::int64_t>(turns, multiprocessors * 2));
    kernel<<<blocks, run, diagnostics_shared, stream>>>(c, f, cells, results);
    check_launch("diagnostics");
  };
  return k;
}

template <int R>
ReductionKernels reduction_kernels_of_radius(FieldSet f) {
  if (f.magnetic) return f.entropy ? make_reduction_kernels<R, true, true>() : make_reduction_kernels<R, true, false>();
  return f.entropy ? make_reduction_kernels<R, false, true>() : make_reduction_kernels<R, false, false>();
}

}  // namespace mhd::gpu
