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

}  // namespace

void ScrambledDigits(const Scramble& order, std::span<const uint64_t> indices, DigitTexts digits) {
  const std::size_t count = indices.size();
  assert(digits.upper.size() >= count && digits.lower.size() >= count);
  Step(order, indices.data(), digits.lower.data(), count);
  // Few are led out of the range.
  for (uint64_t& value : digits.lower.first(count)) {
    while (value >= order.size()) value = order.Step(value);
  }
  Text(digits.upper.data(), digits.lower.data(), count);
}

}  // namespace reveza::datagen::coherent
