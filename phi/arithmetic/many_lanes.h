// The operations of scalar_lanes.h on several vectors at once, one after the other: of a chain of
// dependent operations, a processor waits for each, unless there are independent ones next to it.
#pragma once

#include <cstdint>

#include "phi/arithmetic/phi_math.h"

namespace reveza::phi {

// N vectors of floats, words, products or conditions.
template <class T, int N>
struct Many {
  T each[N];
};

// Calls apply(i) for each vector and returns the results.
template <int N, class Apply>
[[gnu::always_inline]] inline auto ForMany(const Apply& apply) {
  Many<decltype(apply(0)), N> all;
#pragma GCC unroll 8
  for (int i = 0; i < N; ++i) all.each[i] = apply(i);
  return all;
}

template <class T, int N>
[[gnu::always_inline]] inline auto operator+(const Many<T, N>& a, const Many<T, N>& b) {
  return ForMany<N>([&](int i) { return a.each[i] + b.each[i]; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator-(const Many<T, N>& a, const Many<T, N>& b) {
  return ForMany<N>([&](int i) { return a.each[i] - b.each[i]; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator*(const Many<T, N>& a, const Many<T, N>& b) {
  return ForMany<N>([&](int i) { return a.each[i] * b.each[i]; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator^(const Many<T, N>& a, const Many<T, N>& b) {
  return ForMany<N>([&](int i) { return a.each[i] ^ b.each[i]; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator|(const Many<T, N>& a, const Many<T, N>& b) {
  return ForMany<N>([&](int i) { return a.each[i] | b.each[i]; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator+(const Many<T, N>& a, float b) {
  return ForMany<N>([&](int i) { return a.each[i] + b; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator-(const Many<T, N>& a, float b) {
  return ForMany<N>([&](int i) { return a.each[i] - b; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator*(const Many<T, N>& a, float b) {
  return ForMany<N>([&](int i) { return a.each[i] * b; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator+(const Many<T, N>& a, std::uint32_t b) {
  return ForMany<N>([&](int i) { return a.each[i] + b; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator-(const Many<T, N>& a, std::uint32_t b) {
  return ForMany<N>([&](int i) { return a.each[i] - b; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator^(const Many<T, N>& a, std::uint32_t b) {
  return ForMany<N>([&](int i) { return a.each[i] ^ b; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator&(const Many<T, N>& a, std::uint32_t b) {
  return ForMany<N>([&](int i) { return a.each[i] & b; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator<<(const Many<T, N>& a, int count) {
  return ForMany<N>([&](int i) { return a.each[i] << count; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto operator>>(const Many<T, N>& a, int count) {
  return ForMany<N>([&](int i) { return a.each[i] >> count; });
}
template <class T, int N>
[[gnu::always_inline]] inline auto Fma(const Many<T, N>& a, const Many<T, N>& b,
                                       const Many<T, N>& c) {
  return ForMany<N>([&](int i) { return Fma(a.each[i], b.each[i], c.each[i]); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto Fma(const Many<T, N>& a, float b, const Many<T, N>& c) {
  return ForMany<N>([&](int i) { return Fma(a.each[i], b, c.each[i]); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto Fma(const Many<T, N>& a, const Many<T, N>& b, float c) {
  return ForMany<N>([&](int i) { return Fma(a.each[i], b.each[i], c); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto Fma(const Many<T, N>& a, float b, float c) {
  return ForMany<N>([&](int i) { return Fma(a.each[i], b, c); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto Sqrt(const Many<T, N>& a) {
  return ForMany<N>([&](int i) { return Sqrt(a.each[i]); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto Bits(const Many<T, N>& a) {
  return ForMany<N>([&](int i) { return Bits(a.each[i]); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto FromBits(const Many<T, N>& a) {
  return ForMany<N>([&](int i) { return FromBits(a.each[i]); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto ToFloat(const Many<T, N>& a) {
  return ForMany<N>([&](int i) { return ToFloat(a.each[i]); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto High(const Many<T, N>& a) {
  return ForMany<N>([&](int i) { return High(a.each[i]); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto Spread(const Many<T, N>& a) {
  return ForMany<N>([&](int i) { return Spread(a.each[i]); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto JoinLow(const Many<T, N>& a) {
  return ForMany<N>([&](int i) { return JoinLow(a.each[i]); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto JoinHigh(const Many<T, N>& a) {
  return ForMany<N>([&](int i) { return JoinHigh(a.each[i]); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto ShiftRightSigned(const Many<T, N>& a, int count) {
  return ForMany<N>([&](int i) { return ShiftRightSigned(a.each[i], count); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto Product(const Many<T, N>& a, std::uint32_t b) {
  return ForMany<N>([&](int i) { return Product(a.each[i], b); });
}
template <class T, int N>
[[gnu::always_inline]] inline auto HasNone(const Many<T, N>& a, std::uint32_t of) {
  return ForMany<N>([&](int i) { return HasNone(a.each[i], of); });
}
template <class T, class U, int N>
[[gnu::always_inline]] inline auto FlipSign(const Many<T, N>& a, const Many<U, N>& by) {
  return ForMany<N>([&](int i) { return FlipSign(a.each[i], by.each[i]); });
}
template <class T, class U, int N>
[[gnu::always_inline]] inline auto Select(const Many<T, N>& condition, const Many<U, N>& yes,
                                          const Many<U, N>& no) {
  return ForMany<N>([&](int i) { return Select(condition.each[i], yes.each[i], no.each[i]); });
}

// The types of N vectors, for functions of phi_math.h that do not load or store.
template <class Lanes, int N>
struct ManyLanes {
  using Floats = Many<typename Lanes::Floats, N>;
  using Words = Many<typename Lanes::Words, N>;
};

// The keys of the rounds of Philox in memory, from where a processor broadcasts them at no cost;
// from registers, it needs the ports of the arithmetic.
struct RoundKeys {
  explicit RoundKeys(PhiloxKey key) {
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const auto steps = static_cast<std::uint32_t>(round);
      first[round] = key.word[0] + steps * kPhiloxStep0;
      second[round] = key.word[1] + steps * kPhiloxStep1;
    }
  }
  std::uint32_t first[kPhiloxRounds];
  std::uint32_t second[kPhiloxRounds];
};

// The same as PhiloxLanes().
template <class Words>
[[gnu::always_inline]] inline WordLanes<Words> PhiloxWords(const Words& counter,
                                                           const DrawPosition& at,
                                                           const RoundKeys& keys) {
  const auto high = [](std::uint64_t product) { return static_cast<std::uint32_t>(product >> 32); };
  const auto low = [](std::uint64_t product) { return static_cast<std::uint32_t>(product); };
  // In the first two rounds, one of the products is the same in all lanes.
  std::uint64_t shared = std::uint64_t{kPhiloxFactor1} * at.cycle;
  auto product = Product(Spread(counter), kPhiloxFactor0);
  auto c2 = High(product) ^ (at.site ^ keys.second[0]);
  const std::uint32_t first = high(shared) ^ at.run ^ keys.first[0];
  const std::uint32_t second = low(shared);
  shared = std::uint64_t{kPhiloxFactor0} * first;
  auto c1 = Product(c2, kPhiloxFactor1);
  auto c0 = High(c1) ^ (second ^ keys.first[1]);
  c2 = product ^ (high(shared) ^ keys.second[1]);
  product = Product(c0, kPhiloxFactor0);
  auto other = Product(c2, kPhiloxFactor1);
  c0 = High(other) ^ c1 ^ keys.first[2];
  c2 = High(product) ^ (low(shared) ^ keys.second[2]);
#pragma GCC unroll 8
  for (int round = 3; round < kPhiloxRounds - 1; ++round) {
    c1 = other;
    const auto c3 = product;
    product = Product(c0, kPhiloxFactor0);
    other = Product(c2, kPhiloxFactor1);
    c0 = High(other) ^ c1 ^ keys.first[round];
    c2 = High(product) ^ c3 ^ keys.second[round];
  }
  c1 = Product(c2, kPhiloxFactor1);
  const auto c3 = Product(c0, kPhiloxFactor0);
  return {{JoinHigh(c1) ^ JoinLow(other) ^ keys.first[kPhiloxRounds - 1], JoinLow(c1),
           JoinHigh(c3) ^ JoinLow(product) ^ keys.second[kPhiloxRounds - 1], JoinLow(c3)}};
}

// Makes the standard normal numbers of two groups, `group` and the next, as NormalGroup() does of
// each, for vectors of 16 lanes.
template <class Lanes>
[[gnu::flatten, gnu::noinline]] inline void TwoNormalGroups(const DrawPosition& at,
                                                            const RoundKeys& keys, int group,
                                                            typename Lanes::Floats* parts) {
  static_assert(Lanes::kCount == 16);
  using Words = typename Lanes::Words;
  const auto first = static_cast<std::uint32_t>(group) * 16;
  const auto numbers = Lanes::Numbers();
  const auto words =
      PhiloxWords(Many<Words, 2>{{numbers + first, numbers + (first + 16)}}, at, keys);
  const Many<Words, 4> lengths = {
      {words.word[0].each[0], words.word[2].each[0], words.word[0].each[1], words.word[2].each[1]}};
  const Many<Words, 4> angles = {
      {words.word[1].each[0], words.word[3].each[0], words.word[1].each[1], words.word[3].each[1]}};
  Many<typename Lanes::Floats, 4> a, b;
  BoxMuller<ManyLanes<Lanes, 4>>(lengths, angles, a, b);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    parts[2 * i] = a.each[i];
    parts[2 * i + 1] = b.each[i];
  }
}

// Calls visit(group, parts) with the standard normal numbers of each group, as NormalGroup().
template <class Lanes, class Visit>
[[gnu::always_inline]] inline void ForNormalGroups(const DrawPosition& at, int groups,
                                                   const Visit& visit) {
  constexpr int kParts = kGroup / Lanes::kCount;
  int group = 0;
  if constexpr (Lanes::kCount == 16) {
    const RoundKeys keys(at.key);
    for (; group + 1 < groups; group += 2) {
      typename Lanes::Floats parts[2 * kParts];
      TwoNormalGroups<Lanes>(at, keys, group, parts);
      visit(group, parts);
      visit(group + 1, parts + kParts);
    }
  }
  for (; group < groups; ++group) {
    typename Lanes::Floats parts[kParts];
    NormalGroup<Lanes>(at, group, parts);
    visit(group, parts);
  }
}

}  // namespace reveza::phi
