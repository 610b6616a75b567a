#pragma once
// Marks functions that the CPU compiler (for scalars and SIMD packs) and nvcc (for the device) both compile.
// They are always inlined: the CPU kernels are built once per instruction set, and an out-of-line copy made for the
// widest one must never be what the linker keeps for the others. MHD_UNROLL unrolls the short loop that
// follows.

#if defined(__CUDACC__)
#define MHD_HD __host__ __device__ __forceinline__
#define MHD_LAMBDA
#else
#define MHD_HD inline __attribute__((always_inline))
#define MHD_LAMBDA __attribute__((always_inline))
#endif

#if defined(__CUDA_ARCH__)
#define MHD_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define MHD_UNROLL
#else
#define MHD_UNROLL _Pragma("GCC unroll 8")
#endif
