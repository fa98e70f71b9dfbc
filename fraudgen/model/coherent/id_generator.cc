#include "fraudgen/model/coherent/id_generator.h"

#include <algorithm>
#include <cassert>

#include "fraudgen/values/simd_width.h"

namespace reveza::fraudgen::coherent {
namespace {

// Like EightText, but only with multiplications that SIMD supports.
[[gnu::always_inline]] inline uint64_t TextOfEight(uint64_t value) {
  const uint64_t thousands = (value * 3'518'437'209u) >> 45;  // value / 10'000
  const uint64_t fours = thousands | (value - thousands * 10'000) << 32;
  const uint64_t upper = ((fours * 10'486) >> 20) & 0x0000'007f'0000'007fu;
  const uint64_t twos = ((fours - 100 * upper) << 16) + upper;
  const uint64_t tens = ((twos * 103) >> 10) & 0x000f'000f'000f'000fu;
  return tens + ((twos - 10 * tens) << 8) + kZeros;
}

// Replaces the numbers in `lower` by their digits.
void PutTexts(DigitTexts digits, std::size_t count) {
  RunVectorised(
      [upper = digits.upper.data(), lower = digits.lower.data(), count] [[gnu::always_inline]] {
        for (std::size_t i = 0; i < count; ++i) {
          const uint64_t value = lower[i];
          // value / 10^8, possibly one too many: 10^8 is 2^8 * 390,625, and 2^40 / 390,625 is
          // rounded up.
          uint64_t high = ((value >> 8) * 2'814'750u) >> 40;
          high -= value < high * kEightDigits ? 1 : 0;
          upper[i] = TextOfEight(high);
          lower[i] = TextOfEight(value - high * kEightDigits);
        }
      });
}

// Continues the permutation for values outside its range.
void CycleWalk(const Scramble& order, std::span<uint64_t> values) {
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
  if (!together) {
    for (std::size_t i = 0; i < count; ++i) digits.lower[i] = At(rows[i]);
    return PutTexts(digits, count);
  }
  uint64_t* const values = digits.lower.data();
  RunVectorised(
      [order = rows_, first, begin = BeginOf(group), rows, values] [[gnu::always_inline]] {
        for (std::size_t i = 0; i < rows.size(); ++i) {
          const uint64_t place = rows[i] - first + begin;
          values[i] = order.Step(place - (place >= kEightDigits ? kEightDigits : 0));
        }
      });
  CycleWalk(rows_, digits.lower.first(count));
  RunVectorised([values, count] [[gnu::always_inline]] {
    for (std::size_t i = 0; i < count; ++i) values[i] = TextOfEight(values[i]);
  });
  std::ranges::fill(digits.upper.first(count), TextOfEight(groups_.At(group)));
}

WholeOrder::WholeOrder(uint64_t key, int digits) : order_(key, PowerOfTen(digits)) {}

void WholeOrder::Digits(std::span<const uint64_t> numbers, DigitTexts digits) const {
  const std::size_t count = numbers.size();
  assert(digits.upper.size() >= count && digits.lower.size() >= count);
  RunVectorised([order = order_, numbers, values = digits.lower.data()] [[gnu::always_inline]] {
    for (std::size_t i = 0; i < numbers.size(); ++i) values[i] = order.Step(numbers[i]);
  });
  CycleWalk(order_, digits.lower.first(count));
  PutTexts(digits, count);
}

}  // namespace reveza::fraudgen::coherent
