// The primitive operations of phi_math.h on a single lane. avx512_lanes.h and avx2_lanes.h provide
// them for 16 and 8 lanes, with the same bits in each lane.
//
// Floating-point operations are correctly rounded (IEEE 754, to nearest, with denormals).
// Thread-safe: pure functions, usable on CPU and GPU.
#pragma once

#include <cstdint>

#include "phi/arithmetic/host_device.h"

namespace reveza::phi {

PHI_INLINE float Fma(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

PHI_INLINE float Sqrt(float a) {
#ifdef __CUDA_ARCH__
  return __fsqrt_rn(a);
#else
  return __builtin_sqrtf(a);
#endif
}

PHI_INLINE float Divide(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

PHI_INLINE std::uint32_t Bits(float a) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(a);
#else
  return __builtin_bit_cast(std::uint32_t, a);
#endif
}

PHI_INLINE float FromBits(std::uint32_t a) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(a);
#else
  return __builtin_bit_cast(float, a);
#endif
}

// Converts a two's complement integer.
PHI_INLINE float ToFloat(std::uint32_t a) {
  return static_cast<float>(static_cast<std::int32_t>(a));
}
PHI_INLINE std::uint32_t ShiftRightSigned(std::uint32_t a, int count) {
  return static_cast<std::uint32_t>(static_cast<std::int32_t>(a) >> count);
}

// A word in the low half of 64 bits, or a product in all of them.
struct WideWord {
  std::uint32_t low;
  std::uint32_t high;
};
PHI_INLINE WideWord Spread(std::uint32_t a) { return {a, 0}; }
// Multiplies the low half.
PHI_INLINE WideWord Product(WideWord a, std::uint32_t b) {
  const std::uint64_t product = std::uint64_t{a.low} * b;
  return {static_cast<std::uint32_t>(product), static_cast<std::uint32_t>(product >> 32)};
}
// Moves the high half to the low one. Of the others, only the low half of the result is valid.
PHI_INLINE WideWord High(WideWord a) { return {a.high, 0}; }
PHI_INLINE WideWord operator^(WideWord a, WideWord b) { return {a.low ^ b.low, 0}; }
PHI_INLINE WideWord operator^(WideWord a, std::uint32_t b) { return {a.low ^ b, 0}; }
PHI_INLINE std::uint32_t JoinLow(WideWord a) { return a.low; }
PHI_INLINE std::uint32_t JoinHigh(WideWord a) { return a.high; }

PHI_INLINE bool Less(float a, float b) { return a < b; }
// Returns whether none of the bits of `of` is set.
PHI_INLINE bool HasNone(std::uint32_t a, std::uint32_t of) { return (a & of) == 0; }
// Flips the sign where the highest bit of `by` is set.
PHI_INLINE float FlipSign(float a, std::uint32_t by) {
  return FromBits(Bits(a) ^ (by & 0x80000000U));
}
PHI_INLINE float Select(bool condition, float yes, float no) { return condition ? yes : no; }

struct ScalarLanes {
  static constexpr int kCount = 1;
  using Floats = float;
  using Words = std::uint32_t;

  PHI_HOST_DEVICE static Floats Broadcast(float a) { return a; }
  // Returns 0, 1, 2, ... in the lanes.
  PHI_HOST_DEVICE static Words Numbers() { return 0; }
  PHI_HOST_DEVICE static Floats Load(const float* from) { return *from; }
  PHI_HOST_DEVICE static void Store(float* to, Floats a) { *to = a; }
  // Returns the sum of the lanes: lane l adds lane l + h, for h = half the lanes, a quarter, ... 1.
  PHI_HOST_DEVICE static float Fold(Floats a) { return a; }
  // Adds HashWord (phi_math.h) of the lanes, at positions `first`, `first` + 1, ..., to sums of
  // lanes, of which FoldHash() returns the sum.
  using Hashes = std::uint64_t;
  PHI_HOST_DEVICE static Hashes NoHashes() { return 0; }
  PHI_HOST_DEVICE static void AddHashes(Hashes& sums, Floats a, std::uint32_t first);
  PHI_HOST_DEVICE static std::uint64_t FoldHash(Hashes sums) { return sums; }
};

}  // namespace reveza::phi
