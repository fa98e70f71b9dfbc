// Bit-exact elementary functions and random numbers: the same bits on any CPU and GPU, for any
// number of lanes. Written once over `Lanes` (scalar_lanes.h) as single additions, products, fused
// multiply-adds, quotients and square roots in a fixed order, without the C library.
//
// Thread-safe: pure functions, usable on CPU and GPU.
#pragma once

#include <cstdint>

#include "phi/arithmetic/host_device.h"
#include "phi/arithmetic/philox.h"
#include "phi/arithmetic/scalar_lanes.h"

namespace reveza::phi {

// Coefficients interpolate the functions at Chebyshev nodes (tools/fit_phi_functions.py), rounded
// to float.

// Returns the natural logarithm of a positive, normal, finite number. Accurate to 2 ulp, except
// near 1, where the absolute error is at most 2^-24.
template <class Floats>
PHI_HOST_DEVICE inline Floats Log(Floats x) {
  // x = 2^e m with m in [sqrt(1/2), sqrt(2)).
  const auto bits = Bits(x);
  const auto above = bits - 0x3f3504f3U;
  const auto exponent = ToFloat(ShiftRightSigned(above, 23));
  const Floats f = FromBits(bits - (above & 0xff800000U)) - 1.0F;
  // (log(1 + f) - f) / f^2
  Floats p = Fma(f, -0x1.3a4ff6p-4F, 0x1.048f72p-3F);
  p = Fma(p, f, -0x1.0cda32p-3F);
  p = Fma(p, f, 0x1.22ea5ap-3F);
  p = Fma(p, f, -0x1.548382p-3F);
  p = Fma(p, f, 0x1.99a012p-3F);
  p = Fma(p, f, -0x1.00020cp-2F);
  p = Fma(p, f, 0x1.555554p-2F);
  p = Fma(p, f, -0x1.fffffep-2F);
  const Floats fraction = Fma(f * f, p, f);
  // log(2) split into two parts; the first has few bits, so that its product is exact.
  return Fma(exponent, 0x1.62ep-1F, Fma(exponent, 0x1.0bfbe8p-15F, fraction));
}

template <class Floats>
struct SinCos {
  Floats sin;
  Floats cos;
};

// Returns sine and cosine of word / 2^32 turns; the low 8 bits of the word are ignored.
template <class Lanes>
PHI_HOST_DEVICE inline SinCos<typename Lanes::Floats> SinCosOfTurns(typename Lanes::Words word) {
  using Floats = typename Lanes::Floats;
  // The upper two bits of `turned` are the quadrant.
  const auto turned = word + 0x20000000U;
  const auto rest = ShiftRightSigned(word << 2, 10);  // -1/8 to 1/8 turn, in 2^-24
  const Floats t = ToFloat(rest) * 0x1.921fb6p-22F;
  const Floats z = t * t;
  Floats s = Fma(z, -0x1.9ac9bp-13F, 0x1.110c28p-7F);
  s = Fma(s, z, -0x1.555552p-3F);
  const Floats sin = Fma(s * z, t, t);
  Floats c = Fma(z, 0x1.9bd89cp-16F, -0x1.6c12d2p-10F);
  c = Fma(c, z, 0x1.555554p-5F);
  const Floats cos = Fma(c, z * z, Fma(z, -0.5F, 1.0F));
  const auto even = HasNone(turned, 0x40000000U);
  return {FlipSign(Select(even, sin, cos), turned),
          FlipSign(Select(even, cos, sin), turned + 0x40000000U)};
}

// Returns the hyperbolic tangent, accurate to 3 ulp: -m / (m + 2) with m = exp(-2 |x|) - 1.
template <class Floats>
PHI_HOST_DEVICE inline Floats Tanh(Floats x) {
  const auto sign = Bits(x) & 0x80000000U;
  Floats y = FromBits(Bits(x) & 0x7fffffffU) * -2.0F;
  y = Select(Less(y, -32.0F), FromBits((Bits(y) & 0U) + 0xc2000000U), y);
  // y = k log(2) + r; adding 1.5 * 2^23 rounds to an integer.
  const Floats shifted = Fma(y, 0x1.715476p+0F, 12582912.0F);
  const Floats k = shifted - 12582912.0F;
  const Floats r = Fma(k, -0x1.0bfbe8p-15F, Fma(k, -0x1.62ep-1F, y));
  // (exp(r) - 1 - r) / r^2
  Floats p = Fma(r, 0x1.a124e4p-13F, 0x1.6d4316p-10F);
  p = Fma(p, r, 0x1.1110ep-7F);
  p = Fma(p, r, 0x1.5554eap-5F);
  p = Fma(p, r, 0x1.555556p-3F);
  p = Fma(p, r, 0.5F);
  const Floats q = Fma(r * r, p, r);
  const Floats power = FromBits((Bits(shifted) + 127U) << 23);
  const Floats m = Fma(power, q, power - 1.0F);
  return FromBits((Bits(Divide(m, m + 2.0F)) & 0x7fffffffU) | sign);
}

// Counter-based random numbers, addressed by (seed, run, cycle, site, element). Draws that differ
// in any coordinate are independent.
struct DrawPosition {
  PhiloxKey key;  // KeyOf(seed)
  std::uint32_t run;
  std::uint32_t cycle;
  std::uint32_t site;
};

// Returns the Philox key of a seed: its low half, then its high half.
PHI_INLINE PhiloxKey KeyOf(std::uint64_t seed) {
  return {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
}

// Elements are drawn in groups of 64 = 4 x 16: element 64 g + 16 j + l uses word j of the block
// with counter (16 g + l, run, cycle, site).
inline constexpr int kGroup = 64;

template <class Words>
struct WordLanes {
  Words word[4];
};

// Philox (philox.h), one counter per lane. Within it, words are the low halves of 64-bit lanes
// (Lanes::Wide), which is how processors multiply them.
template <class Words>
PHI_HOST_DEVICE inline WordLanes<Words> PhiloxLanes(Words counter, const DrawPosition& at) {
  std::uint32_t k0 = at.key.word[0];
  std::uint32_t k1 = at.key.word[1];
  const auto step = [&] {
    k0 += kPhiloxStep0;
    k1 += kPhiloxStep1;
  };
  const auto high = [](std::uint64_t product) { return static_cast<std::uint32_t>(product >> 32); };
  const auto low = [](std::uint64_t product) { return static_cast<std::uint32_t>(product); };
  // In the first two rounds, one of the products is the same in all lanes.
  std::uint64_t shared = std::uint64_t{kPhiloxFactor1} * at.cycle;
  auto product = Product(Spread(counter), kPhiloxFactor0);
  auto c2 = High(product) ^ (at.site ^ k1);
  const std::uint32_t first = high(shared) ^ at.run ^ k0;
  const std::uint32_t second = low(shared);
  step();
  shared = std::uint64_t{kPhiloxFactor0} * first;
  auto c1 = Product(c2, kPhiloxFactor1);
  auto c0 = High(c1) ^ (second ^ k0);
  c2 = product ^ (high(shared) ^ k1);
  step();
  product = Product(c0, kPhiloxFactor0);
  auto other = Product(c2, kPhiloxFactor1);
  c0 = High(other) ^ c1 ^ k0;
  c2 = High(product) ^ (low(shared) ^ k1);
  for (int round = 3; round < kPhiloxRounds - 1; ++round) {
    step();
    c1 = other;
    const auto c3 = product;
    product = Product(c0, kPhiloxFactor0);
    other = Product(c2, kPhiloxFactor1);
    c0 = High(other) ^ c1 ^ k0;
    c2 = High(product) ^ c3 ^ k1;
  }
  step();
  c1 = Product(c2, kPhiloxFactor1);
  const auto c3 = Product(c0, kPhiloxFactor0);
  return {{JoinHigh(c1) ^ JoinLow(other) ^ k0, JoinLow(c1), JoinHigh(c3) ^ JoinLow(product) ^ k1,
           JoinLow(c3)}};
}

// Makes two standard normal numbers from two words (G. E. P. Box, M. E. Muller: A note on the
// generation of random normal deviates, Ann. Math. Statist. 29 (1958), 610): sqrt(-2 log u) times
// cosine and sine, with u = (upper 24 bits of the first word + 1) / 2^24. The magnitude is at most
// sqrt(48 log 2) = 5.77.
template <class Lanes>
PHI_HOST_DEVICE inline void BoxMuller(typename Lanes::Words first, typename Lanes::Words second,
                                      typename Lanes::Floats& a, typename Lanes::Floats& b) {
  using Floats = typename Lanes::Floats;
  const Floats u = Fma(ToFloat(first >> 8), 0x1p-24F, 0x1p-24F);
  const Floats radius = Sqrt(Log(u) * -2.0F);
  const SinCos<Floats> angle = SinCosOfTurns<Lanes>(second);
  a = radius * angle.cos;
  b = radius * angle.sin;
}

// Makes the standard normal numbers of group `group`; parts[i] holds elements i * Lanes::kCount
// onwards. Words 0 and 1 of a block yield two numbers, words 2 and 3 the other two.
template <class Lanes>
PHI_HOST_DEVICE inline void NormalGroup(const DrawPosition& at, int group,
                                        typename Lanes::Floats* parts) {
  constexpr int kSteps = 16 / Lanes::kCount;
  for (int step = 0; step < kSteps; ++step) {
    const auto first = static_cast<std::uint32_t>(group * 16 + step * Lanes::kCount);
    const auto words = PhiloxLanes(Lanes::Numbers() + first, at);
    BoxMuller<Lanes>(words.word[0], words.word[1], parts[step], parts[kSteps + step]);
    BoxMuller<Lanes>(words.word[2], words.word[3], parts[2 * kSteps + step],
                     parts[3 * kSteps + step]);
  }
}

// Returns the standard normal number of one element; the same bits as NormalGroup().
PHI_HOST_DEVICE inline float NormalAt(const DrawPosition& at, std::uint32_t element) {
  const std::uint32_t counter = element / kGroup * 16 + element % 16;
  const std::uint32_t word = element % kGroup / 16;
  const PhiloxBlock block = Philox({{counter, at.run, at.cycle, at.site}}, at.key);
  float a = 0;
  float b = 0;
  BoxMuller<ScalarLanes>(block.word[word & 2U], block.word[word | 1U], a, b);
  return (word & 1U) == 0 ? a : b;
}

// Sums elements in a fixed order: 64 partial sums, where lane l adds elements l, l + 64, l + 128,
// ... in turn from +0; then lane l adds lane l + h, for h = 32, 16, 8, 4, 2, 1.
template <class Lanes>
struct TreeSum {
  static constexpr int kParts = kGroup / Lanes::kCount;
  typename Lanes::Floats part[kParts];

  PHI_HOST_DEVICE TreeSum() {
    for (auto& each : part) each = Lanes::Broadcast(0.0F);
  }
  PHI_HOST_DEVICE void Add(int i, typename Lanes::Floats a) { part[i] = part[i] + a; }
  PHI_HOST_DEVICE void AddProduct(int i, typename Lanes::Floats a, typename Lanes::Floats b) {
    part[i] = Fma(a, b, part[i]);
  }
  PHI_HOST_DEVICE float Total() const {
    typename Lanes::Floats folded[kParts];
    for (int i = 0; i < kParts; ++i) folded[i] = part[i];
    for (int half = kParts / 2; half >= 1; half /= 2) {
      for (int i = 0; i < half; ++i) folded[i] = folded[i] + folded[i + half];
    }
    return Lanes::Fold(folded[0]);
  }
};

// Returns the contribution of the element at `position` to the hash of a state. Contributions are
// added modulo 2^64, in any order. The finaliser is splitmix64's without its first shift.
PHI_INLINE std::uint64_t HashWord(std::uint32_t bits, std::uint32_t position) {
  std::uint64_t value = (std::uint64_t{position} << 32 | bits) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 32)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

PHI_HOST_DEVICE inline void ScalarLanes::AddHashes(Hashes& sums, Floats a, std::uint32_t first) {
  sums += HashWord(Bits(a), first);
}

}  // namespace reveza::phi
