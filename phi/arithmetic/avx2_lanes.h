// The operations of scalar_lanes.h on 8 lanes. Include only from files compiled for AVX2 and FMA,
// whose functions must not be called unless SupportedInstructions() allows it (processor.h).
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace reveza::phi::avx2 {

struct Floats {
  __m256 v;
};
struct Words {
  __m256i v;
};
struct Mask {
  __m256 v;
};

inline Floats operator+(Floats a, Floats b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Floats operator+(Floats a, float b) { return {_mm256_add_ps(a.v, _mm256_set1_ps(b))}; }
inline Floats operator-(Floats a, float b) { return {_mm256_sub_ps(a.v, _mm256_set1_ps(b))}; }
inline Floats operator*(Floats a, float b) { return {_mm256_mul_ps(a.v, _mm256_set1_ps(b))}; }
inline Floats Fma(Floats a, Floats b, Floats c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats Fma(Floats a, float b, Floats c) { return Fma(a, Floats{_mm256_set1_ps(b)}, c); }
inline Floats Fma(Floats a, Floats b, float c) { return Fma(a, b, Floats{_mm256_set1_ps(c)}); }
inline Floats Fma(Floats a, float b, float c) { return Fma(a, b, Floats{_mm256_set1_ps(c)}); }
inline Floats Sqrt(Floats a) { return {_mm256_sqrt_ps(a.v)}; }
inline Floats Divide(Floats a, Floats b) { return {_mm256_div_ps(a.v, b.v)}; }

inline Words Bits(Floats a) { return {_mm256_castps_si256(a.v)}; }
inline Floats FromBits(Words a) { return {_mm256_castsi256_ps(a.v)}; }
inline Floats ToFloat(Words a) { return {_mm256_cvtepi32_ps(a.v)}; }

inline __m256i Same(std::uint32_t a) { return _mm256_set1_epi32(static_cast<int>(a)); }
inline Words operator+(Words a, Words b) { return {_mm256_add_epi32(a.v, b.v)}; }
inline Words operator-(Words a, Words b) { return {_mm256_sub_epi32(a.v, b.v)}; }
inline Words operator^(Words a, Words b) { return {_mm256_xor_si256(a.v, b.v)}; }
inline Words operator|(Words a, Words b) { return {_mm256_or_si256(a.v, b.v)}; }
inline Words operator+(Words a, std::uint32_t b) { return {_mm256_add_epi32(a.v, Same(b))}; }
inline Words operator-(Words a, std::uint32_t b) { return {_mm256_sub_epi32(a.v, Same(b))}; }
inline Words operator^(Words a, std::uint32_t b) { return {_mm256_xor_si256(a.v, Same(b))}; }
inline Words operator&(Words a, std::uint32_t b) { return {_mm256_and_si256(a.v, Same(b))}; }
inline Words operator<<(Words a, int count) { return {_mm256_slli_epi32(a.v, count)}; }
inline Words operator>>(Words a, int count) { return {_mm256_srli_epi32(a.v, count)}; }
inline Words ShiftRightSigned(Words a, int count) { return {_mm256_srai_epi32(a.v, count)}; }

// Even and odd lanes, in 64 bits each.
struct Wide {
  __m256i even;
  __m256i odd;
};
inline Wide High(Wide a) { return {_mm256_srli_epi64(a.even, 32), _mm256_srli_epi64(a.odd, 32)}; }
inline Wide Spread(Words a) { return {a.v, _mm256_srli_epi64(a.v, 32)}; }
inline Wide Product(Wide a, std::uint32_t b) {
  return {_mm256_mul_epu32(a.even, Same(b)), _mm256_mul_epu32(a.odd, Same(b))};
}
inline Wide operator^(Wide a, Wide b) {
  return {_mm256_xor_si256(a.even, b.even), _mm256_xor_si256(a.odd, b.odd)};
}
inline Wide operator^(Wide a, std::uint32_t b) {
  return {_mm256_xor_si256(a.even, Same(b)), _mm256_xor_si256(a.odd, Same(b))};
}
inline Words JoinLow(Wide a) {
  return {_mm256_blend_epi32(a.even, _mm256_slli_epi64(a.odd, 32), 0xaa)};
}
inline Words JoinHigh(Wide a) {
  return {_mm256_blend_epi32(_mm256_srli_epi64(a.even, 32), a.odd, 0xaa)};
}

inline Mask Less(Floats a, float b) { return {_mm256_cmp_ps(a.v, _mm256_set1_ps(b), _CMP_LT_OQ)}; }
inline Mask Less(Floats a, Floats b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
inline Mask HasNone(Words a, std::uint32_t of) {
  return {_mm256_castsi256_ps(
      _mm256_cmpeq_epi32(_mm256_and_si256(a.v, Same(of)), _mm256_setzero_si256()))};
}
inline Floats FlipSign(Floats a, Words by) { return FromBits(Bits(a) ^ (by & 0x80000000U)); }
inline Floats Select(Mask condition, Floats yes, Floats no) {
  return {_mm256_blendv_ps(no.v, yes.v, condition.v)};
}

struct Lanes {
  static constexpr int kCount = 8;
  using Floats = avx2::Floats;
  using Words = avx2::Words;

  static Floats Broadcast(float a) { return {_mm256_set1_ps(a)}; }
  static Words Numbers() { return {_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)}; }
  static Floats Load(const float* from) { return {_mm256_loadu_ps(from)}; }
  static void Store(float* to, Floats a) { _mm256_storeu_ps(to, a.v); }
  static float Fold(Floats a) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }

  using Hashes = __m256i;
  static Hashes NoHashes() { return _mm256_setzero_si256(); }
  static void AddHashes(Hashes& sums, Floats a, std::uint32_t first) {
    const Words position = Numbers() + first;
    const Words bits = Bits(a);
    const __m256i low = _mm256_unpacklo_epi32(bits.v, position.v);
    const __m256i high = _mm256_unpackhi_epi32(bits.v, position.v);
    sums = _mm256_add_epi64(sums, _mm256_add_epi64(HashOfPairs(low), HashOfPairs(high)));
  }
  static std::uint64_t FoldHash(Hashes sums) {
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(two)) +
           static_cast<std::uint64_t>(_mm_extract_epi64(two, 1));
  }

 private:
  // Returns the low 64 bits of the products; AVX2 multiplies only 32 x 32 bits.
  static __m256i Product(__m256i a, std::uint64_t b) {
    const __m256i factor = _mm256_set1_epi64x(static_cast<long long>(b));
    const __m256i swapped = _mm256_shuffle_epi32(factor, 0xb1);
    const __m256i crossed = _mm256_mullo_epi32(a, swapped);
    const __m256i upper =
        _mm256_slli_epi64(_mm256_add_epi64(crossed, _mm256_srli_epi64(crossed, 32)), 32);
    return _mm256_add_epi64(_mm256_mul_epu32(a, factor), upper);
  }
  static __m256i HashOfPairs(__m256i pairs) {
    const __m256i first = Product(pairs, 0xbf58476d1ce4e5b9U);
    const __m256i second =
        Product(_mm256_xor_si256(first, _mm256_srli_epi64(first, 32)), 0x94d049bb133111ebU);
    return _mm256_xor_si256(second, _mm256_srli_epi64(second, 31));
  }
};

}  // namespace reveza::phi::avx2
