// The operations of scalar_lanes.h on 16 lanes. Include only from files compiled for AVX-512F, DQ
// and VL, whose functions must not be called unless SupportedInstructions() allows it
// (processor.h).
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace reveza::phi::avx512 {

struct Floats {
  __m512 v;
};
struct Words {
  __m512i v;
};
struct Mask {
  __mmask16 v;
};

inline Floats operator+(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Floats operator-(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Floats operator*(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Floats operator+(Floats a, float b) { return {_mm512_add_ps(a.v, _mm512_set1_ps(b))}; }
inline Floats operator-(Floats a, float b) { return {_mm512_sub_ps(a.v, _mm512_set1_ps(b))}; }
inline Floats operator*(Floats a, float b) { return {_mm512_mul_ps(a.v, _mm512_set1_ps(b))}; }
inline Floats Fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats Fma(Floats a, float b, Floats c) { return Fma(a, Floats{_mm512_set1_ps(b)}, c); }
inline Floats Fma(Floats a, Floats b, float c) { return Fma(a, b, Floats{_mm512_set1_ps(c)}); }
inline Floats Fma(Floats a, float b, float c) { return Fma(a, b, Floats{_mm512_set1_ps(c)}); }
inline Floats Sqrt(Floats a) { return {_mm512_sqrt_ps(a.v)}; }
inline Floats Divide(Floats a, Floats b) { return {_mm512_div_ps(a.v, b.v)}; }

inline Words Bits(Floats a) { return {_mm512_castps_si512(a.v)}; }
inline Floats FromBits(Words a) { return {_mm512_castsi512_ps(a.v)}; }
inline Floats ToFloat(Words a) { return {_mm512_cvtepi32_ps(a.v)}; }

inline __m512i Same(std::uint32_t a) { return _mm512_set1_epi32(static_cast<int>(a)); }
inline Words operator+(Words a, Words b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline Words operator-(Words a, Words b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline Words operator^(Words a, Words b) { return {_mm512_xor_si512(a.v, b.v)}; }
inline Words operator|(Words a, Words b) { return {_mm512_or_si512(a.v, b.v)}; }
inline Words operator+(Words a, std::uint32_t b) { return {_mm512_add_epi32(a.v, Same(b))}; }
inline Words operator-(Words a, std::uint32_t b) { return {_mm512_sub_epi32(a.v, Same(b))}; }
inline Words operator^(Words a, std::uint32_t b) { return {_mm512_xor_si512(a.v, Same(b))}; }
inline Words operator&(Words a, std::uint32_t b) { return {_mm512_and_si512(a.v, Same(b))}; }
inline Words operator<<(Words a, int count) {
  return {_mm512_slli_epi32(a.v, static_cast<unsigned>(count))};
}
inline Words operator>>(Words a, int count) {
  return {_mm512_srli_epi32(a.v, static_cast<unsigned>(count))};
}
inline Words ShiftRightSigned(Words a, int count) {
  return {_mm512_srai_epi32(a.v, static_cast<unsigned>(count))};
}

// Even and odd lanes, in 64 bits each.
struct Wide {
  __m512i even;
  __m512i odd;
};
inline Wide High(Wide a) { return {_mm512_srli_epi64(a.even, 32), _mm512_srli_epi64(a.odd, 32)}; }
inline Wide Spread(Words a) { return {a.v, _mm512_srli_epi64(a.v, 32)}; }
inline Wide Product(Wide a, std::uint32_t b) {
  return {_mm512_mul_epu32(a.even, Same(b)), _mm512_mul_epu32(a.odd, Same(b))};
}
inline Wide operator^(Wide a, Wide b) {
  return {_mm512_xor_si512(a.even, b.even), _mm512_xor_si512(a.odd, b.odd)};
}
inline Wide operator^(Wide a, std::uint32_t b) {
  return {_mm512_xor_si512(a.even, Same(b)), _mm512_xor_si512(a.odd, Same(b))};
}
inline Words JoinLow(Wide a) {
  return {_mm512_mask_shuffle_epi32(a.even, 0xaaaa, a.odd, _MM_PERM_CCAA)};
}
inline Words JoinHigh(Wide a) {
  return {_mm512_mask_shuffle_epi32(a.odd, 0x5555, a.even, _MM_PERM_DDBB)};
}

inline Mask Less(Floats a, float b) {
  return {_mm512_cmp_ps_mask(a.v, _mm512_set1_ps(b), _CMP_LT_OQ)};
}
inline Mask Less(Floats a, Floats b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline Mask HasNone(Words a, std::uint32_t of) { return {_mm512_testn_epi32_mask(a.v, Same(of))}; }
inline Floats FlipSign(Floats a, Words by) {
  // a ^ (by & sign)
  constexpr int kTable = 0x78;
  return FromBits({_mm512_ternarylogic_epi32(Bits(a).v, by.v, Same(0x80000000U), kTable)});
}
inline Floats Select(Mask condition, Floats yes, Floats no) {
  return {_mm512_mask_blend_ps(condition.v, no.v, yes.v)};
}

struct Lanes {
  static constexpr int kCount = 16;
  using Floats = avx512::Floats;
  using Words = avx512::Words;

  static Floats Broadcast(float a) { return {_mm512_set1_ps(a)}; }
  static Words Numbers() {
    return {_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)};
  }
  static Floats Load(const float* from) { return {_mm512_loadu_ps(from)}; }
  static void Store(float* to, Floats a) { _mm512_storeu_ps(to, a.v); }
  static float Fold(Floats a) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }

  using Hashes = __m512i;
  static Hashes NoHashes() { return _mm512_setzero_si512(); }
  static void AddHashes(Hashes& sums, Floats a, std::uint32_t first) {
    const Words position = Numbers() + first;
    const Words bits = Bits(a);
    const __m512i low = _mm512_unpacklo_epi32(bits.v, position.v);
    const __m512i high = _mm512_unpackhi_epi32(bits.v, position.v);
    sums = _mm512_add_epi64(sums, _mm512_add_epi64(HashOfPairs(low), HashOfPairs(high)));
  }
  static std::uint64_t FoldHash(Hashes sums) {
    const __m256i four =
        _mm256_add_epi64(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64(sums, 1));
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    return static_cast<std::uint64_t>(_mm_cvtsi128_si64(two)) +
           static_cast<std::uint64_t>(_mm_extract_epi64(two, 1));
  }

 private:
  static __m512i HashOfPairs(__m512i pairs) {
    const __m512i first =
        _mm512_mullo_epi64(pairs, _mm512_set1_epi64(static_cast<long long>(0xbf58476d1ce4e5b9U)));
    const __m512i second =
        _mm512_mullo_epi64(_mm512_xor_si512(first, _mm512_srli_epi64(first, 32)),
                           _mm512_set1_epi64(static_cast<long long>(0x94d049bb133111ebU)));
    return _mm512_xor_si512(second, _mm512_srli_epi64(second, 31));
  }
};

}  // namespace reveza::phi::avx512
