// Markers for functions that run on the CPU and, compiled by nvcc, on a GPU, with the same bits.
// This requires `--fmad=false` for nvcc and `-ffp-contract=off` for g++: products and sums are
// fused only where the code calls Fma().
#pragma once

// PHI_INLINE forces inlining. Files compiled for different instruction sets include these
// functions, and the linker would otherwise keep a single copy for all of them.
#ifdef __CUDACC__
#define PHI_HOST_DEVICE __host__ __device__
#define PHI_INLINE __host__ __device__ __forceinline__
#else
#define PHI_HOST_DEVICE
#define PHI_INLINE inline __attribute__((always_inline))
#endif
