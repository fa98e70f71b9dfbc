#include "datagen/vectors.h"

// That header is C to clang in its strict mode, which we only check with.
#if defined(__x86_64__) && !defined(__clang__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define REVEZA_HAS(c_library, compiler) CPU_FEATURE_ACTIVE(c_library)
#elif defined(__x86_64__)
#define REVEZA_HAS(c_library, compiler) (__builtin_cpu_supports(compiler) != 0)
#endif

namespace reveza::datagen {

Vectors VectorsOfProcessor() {
#if defined(__x86_64__)
  static const Vectors vectors = [] {
    if (REVEZA_HAS(AVX512DQ, "avx512dq") && REVEZA_HAS(AVX512VL, "avx512vl")) {
      return Vectors::kEight;
    }
    return REVEZA_HAS(AVX2, "avx2") ? Vectors::kFour : Vectors::kNarrow;
  }();
  return vectors;
#else
  return Vectors::kNarrow;
#endif
}

}  // namespace reveza::datagen
