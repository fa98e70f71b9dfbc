// The loops are compiled three times, as those of random_fill.cc.
#include "datagen/coherent/naming.h"

#include <algorithm>
#include <cassert>

#include "datagen/vectors.h"

namespace reveza::datagen::coherent {
namespace {

// Eight digits as text, as EightText has them; only with products that wide vectors have.
[[gnu::always_inline]] inline uint64_t TextOfEight(uint64_t value) {
  const uint64_t thousands = (value * 3'518'437'209u) >> 45;  // value / 10'000
  const uint64_t fours = thousands | (value - thousands * 10'000) << 32;
  const uint64_t upper = ((fours * 10'486) >> 20) & 0x0000'007f'0000'007fu;
  const uint64_t twos = ((fours - 100 * upper) << 16) + upper;
  const uint64_t tens = ((twos * 103) >> 10) & 0x000f'000f'000f'000fu;
  return tens + ((twos - 10 * tens) << 8) + kZeros;
}

[[gnu::always_inline]] inline void StepLoop(const Scramble order, const uint64_t* const indices,
                                            uint64_t* const values, const std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = order.Step(indices[i]);
}

// Those of a group, from the one that stands first on.
[[gnu::always_inline]] inline void RowLoop(const Scramble order, const uint64_t first,
                                           const uint64_t begin, const uint64_t* const rows,
                                           uint64_t* const values, const std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const uint64_t place = rows[i] - first + begin;
    values[i] = order.Step(place - (place >= kEightDigits ? kEightDigits : 0));
  }
}

[[gnu::always_inline]] inline void EightLoop(uint64_t* const values, const std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = TextOfEight(values[i]);
}

[[gnu::always_inline]] inline void TextLoop(uint64_t* const upper, uint64_t* const lower,
                                            const std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const uint64_t value = lower[i];
    // value / 10^8 or one more: 10^8 is 2^8 times 390,625, and 2^40 / 390,625 is rounded up.
    uint64_t high = ((value >> 8) * 2'814'750u) >> 40;
    high -= value < high * kEightDigits ? 1 : 0;
    upper[i] = TextOfEight(high);
    lower[i] = TextOfEight(value - high * kEightDigits);
  }
}

#if defined(__x86_64__)
[[gnu::target("avx512dq,avx512vl")]] void StepByEight(const Scramble& order, const uint64_t* from,
                                                      uint64_t* to, std::size_t count) {
  StepLoop(order, from, to, count);
}
[[gnu::target("avx2")]] void StepByFour(const Scramble& order, const uint64_t* from, uint64_t* to,
                                        std::size_t count) {
  StepLoop(order, from, to, count);
}
[[gnu::target("avx512dq,avx512vl")]] void RowsByEight(const Scramble& order, uint64_t first,
                                                      uint64_t begin, const uint64_t* rows,
                                                      uint64_t* values, std::size_t count) {
  RowLoop(order, first, begin, rows, values, count);
}
[[gnu::target("avx2")]] void RowsByFour(const Scramble& order, uint64_t first, uint64_t begin,
                                        const uint64_t* rows, uint64_t* values, std::size_t count) {
  RowLoop(order, first, begin, rows, values, count);
}
[[gnu::target("avx512dq,avx512vl")]] void EightsByEight(uint64_t* values, std::size_t count) {
  EightLoop(values, count);
}
[[gnu::target("avx2")]] void EightsByFour(uint64_t* values, std::size_t count) {
  EightLoop(values, count);
}
[[gnu::target("avx512dq,avx512vl")]] void TextByEight(uint64_t* upper, uint64_t* lower,
                                                      std::size_t count) {
  TextLoop(upper, lower, count);
}
[[gnu::target("avx2")]] void TextByFour(uint64_t* upper, uint64_t* lower, std::size_t count) {
  TextLoop(upper, lower, count);
}
#endif

void Step(const Scramble& order, const uint64_t* from, uint64_t* to, std::size_t count) {
#if defined(__x86_64__)
  if (VectorsOfProcessor() == Vectors::kEight) return StepByEight(order, from, to, count);
  if (VectorsOfProcessor() == Vectors::kFour) return StepByFour(order, from, to, count);
#endif
  StepLoop(order, from, to, count);
}

void Text(uint64_t* upper, uint64_t* lower, std::size_t count) {
#if defined(__x86_64__)
  if (VectorsOfProcessor() == Vectors::kEight) return TextByEight(upper, lower, count);
  if (VectorsOfProcessor() == Vectors::kFour) return TextByFour(upper, lower, count);
#endif
  TextLoop(upper, lower, count);
}

void StepRows(const Scramble& order, uint64_t first, uint64_t begin, const uint64_t* rows,
              uint64_t* values, std::size_t count) {
#if defined(__x86_64__)
  if (VectorsOfProcessor() == Vectors::kEight) {
    return RowsByEight(order, first, begin, rows, values, count);
  }
  if (VectorsOfProcessor() == Vectors::kFour) {
    return RowsByFour(order, first, begin, rows, values, count);
  }
#endif
  RowLoop(order, first, begin, rows, values, count);
}

void Eights(uint64_t* values, std::size_t count) {
#if defined(__x86_64__)
  if (VectorsOfProcessor() == Vectors::kEight) return EightsByEight(values, count);
  if (VectorsOfProcessor() == Vectors::kFour) return EightsByFour(values, count);
#endif
  EightLoop(values, count);
}

// What was led out of the range is led on.
void LeadBack(const Scramble& order, std::span<uint64_t> values) {
  for (uint64_t& value : values) {
    while (value >= order.size()) value = order.Step(value);
  }
}

constexpr uint64_t PowerOfTen(int digits) { return digits == 0 ? 1 : 10 * PowerOfTen(digits - 1); }

}  // namespace

RowOrder::RowOrder(uint64_t key, int digits)
    : key_(key), groups_(key, PowerOfTen(digits - 8)), rows_(Mix(key), kEightDigits) {}

uint64_t RowOrder::BeginOf(uint64_t group) const { return Mix(key_ ^ group) % kEightDigits; }

uint64_t RowOrder::At(uint64_t row) const {
  const uint64_t group = row / kEightDigits;
  const uint64_t place = (row - group * kEightDigits + BeginOf(group)) % kEightDigits;
  return groups_.At(group) * kEightDigits + rows_.At(place);
}

void RowOrder::Digits(std::span<const uint64_t> rows, DigitTexts digits) const {
  const std::size_t count = rows.size();
  assert(digits.upper.size() >= count && digits.lower.size() >= count);
  if (count == 0) return;
  const uint64_t group = rows.front() / kEightDigits;
  const uint64_t first = group * kEightDigits;
  bool together = true;
  for (const uint64_t row : rows) together &= row - first < kEightDigits;
  if (together) {
    StepRows(rows_, first, BeginOf(group), rows.data(), digits.lower.data(), count);
    LeadBack(rows_, digits.lower.first(count));
    Eights(digits.lower.data(), count);
    std::ranges::fill(digits.upper.first(count), TextOfEight(groups_.At(group)));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) digits.lower[i] = At(rows[i]);
  Text(digits.upper.data(), digits.lower.data(), count);
}

void ScrambledDigits(const Scramble& order, std::span<const uint64_t> indices, DigitTexts digits) {
  const std::size_t count = indices.size();
  assert(digits.upper.size() >= count && digits.lower.size() >= count);
  Step(order, indices.data(), digits.lower.data(), count);
  LeadBack(order, digits.lower.first(count));
  Text(digits.upper.data(), digits.lower.data(), count);
}

}  // namespace reveza::datagen::coherent
