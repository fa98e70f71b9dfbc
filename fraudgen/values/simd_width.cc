#include "fraudgen/values/simd_width.h"

// clang, which only runs the static analysis, does not compile that header as C++; glibc has its
// function since 2.33.
#if defined(__x86_64__) && !defined(__clang__) && !defined(REVEZA_OLD_GLIBC) && \
    __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define REVEZA_HAS(c_library, compiler) CPU_FEATURE_ACTIVE(c_library)
#elif defined(__x86_64__)
#define REVEZA_HAS(c_library, compiler) (__builtin_cpu_supports(compiler) != 0)
#endif

namespace reveza::fraudgen {

SimdWidth DetectSimdWidth() {
#if defined(__x86_64__)
  static const SimdWidth width = [] {
    if (REVEZA_HAS(AVX512DQ, "avx512dq") && REVEZA_HAS(AVX512VL, "avx512vl")) {
      return SimdWidth::kEight;
    }
    return REVEZA_HAS(AVX2, "avx2") ? SimdWidth::kFour : SimdWidth::kScalar;
  }();
  return width;
#else
  return SimdWidth::kScalar;
#endif
}

}  // namespace reveza::fraudgen
