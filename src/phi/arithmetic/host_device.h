// Functions that run on the processor and, compiled by nvcc, on a GPU as well, with the same bits.
// nvcc needs `--fmad=false` for that: as with g++'s `-ffp-contract=off`, a product and a sum are
// one operation only where the code says Fma.
#pragma once

// PHI_INLINE is for functions of single numbers. They are inlined always: files that are compiled
// for different instructions include them, and the linker would keep one copy of a function for
// all.
#ifdef __CUDACC__
#define PHI_HOST_DEVICE __host__ __device__
#define PHI_INLINE __host__ __device__ __forceinline__
#else
#define PHI_HOST_DEVICE
#define PHI_INLINE inline __attribute__((always_inline))
#endif
