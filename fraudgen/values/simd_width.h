// Selects the SIMD width of loops over 64-bit integers for this processor. Thread-safe.
#pragma once

namespace reveza::fraudgen {

// 64-bit lanes, with a 64-bit multiplication.
enum class SimdWidth { kScalar = 1, kFour = 4, kEight = 8 };

// Asks the C library where possible, so that GLIBC_TUNABLES applies. The result is cached.
SimdWidth DetectSimdWidth();

#if defined(__x86_64__)
namespace internal {

template <typename Loop>
[[gnu::target("avx512dq,avx512vl")]] void RunByEight(const Loop loop) {
  loop();
}
template <typename Loop>
[[gnu::target("avx2")]] void RunByFour(const Loop loop) {
  loop();
}

}  // namespace internal
#endif

// Runs a loop as compiled for the processor's SIMD width; results are identical for all. `loop` and
// what it calls must be [[gnu::always_inline]], and its captures copies, so that the compiler can
// rule out aliasing.
template <typename Loop>
void RunVectorised(const Loop loop) {
#if defined(__x86_64__)
  switch (DetectSimdWidth()) {
    case SimdWidth::kEight:
      return internal::RunByEight(loop);
    case SimdWidth::kFour:
      return internal::RunByFour(loop);
    case SimdWidth::kScalar:
      break;
  }
#endif
  loop();
}

}  // namespace reveza::fraudgen
