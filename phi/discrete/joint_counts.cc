#include "phi/discrete/joint_counts.h"

#include <algorithm>

namespace reveza::phi {
namespace {

constexpr std::size_t kBits = 64;
// Words counted at once: the masks of two times 16 states stay in the first cache.
constexpr std::size_t kBlock = 128;
constexpr std::size_t kMaxMasks = std::size_t{1} << (kMaxPlanes / 2);

// The rows of each state, of some planes, within a block.
using Masks = std::uint64_t[kMaxMasks][kBlock];

[[gnu::always_inline]] inline void Split(Masks& masks, std::span<const BitPlane> planes,
                                         std::size_t begin, std::size_t words) {
  std::size_t states = 1;
  for (const BitPlane& plane : planes) {
    const std::size_t shift = plane.first % kBits;
    const std::uint64_t* const from = plane.words + plane.first / kBits + begin;
    for (std::size_t state = 0; state < states; ++state) {
      std::uint64_t* const without = masks[state];
      std::uint64_t* const with = masks[state + states];
      for (std::size_t i = 0; i < words; ++i) {
        // In two steps, because a shift by 64 is undefined.
        const std::uint64_t bits = from[i] >> shift | from[i + 1] << 1 << (kBits - 1 - shift);
        with[i] = without[i] & bits;
        without[i] &= ~bits;
      }
    }
    states *= 2;
  }
}

[[gnu::always_inline]] inline void Count(std::span<const BitPlane> planes, std::size_t rows,
                                         std::uint32_t* counts) {
  alignas(64) Masks low, high;
  const std::size_t split = planes.size() / 2;
  const std::size_t lows = std::size_t{1} << split;
  const std::size_t highs = std::size_t{1} << (planes.size() - split);
  for (std::size_t begin = 0; begin * kBits < rows; begin += kBlock) {
    const std::size_t left = rows - begin * kBits;
    const std::size_t words = std::min(kBlock, (left + kBits - 1) / kBits);
    std::fill_n(low[0], words, ~std::uint64_t{0});
    std::fill_n(high[0], words, ~std::uint64_t{0});
    // The rows of the last word.
    if (words * kBits > left) high[0][words - 1] >>= words * kBits - left;
    Split(low, planes.first(split), begin, words);
    Split(high, planes.subspan(split), begin, words);
    for (std::size_t upper = 0; upper < highs; ++upper) {
      for (std::size_t lower = 0; lower < lows; ++lower) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < words; ++i) {
          sum += static_cast<std::uint64_t>(__builtin_popcountll(low[lower][i] & high[upper][i]));
        }
        counts[upper * lows + lower] += static_cast<std::uint32_t>(sum);
      }
    }
  }
}

using Counting = void (*)(std::span<const BitPlane>, std::size_t, std::uint32_t*);

void CountPlain(std::span<const BitPlane> planes, std::size_t rows, std::uint32_t* counts) {
  Count(planes, rows, counts);
}

#ifdef __x86_64__
[[gnu::target("popcnt")]] void CountByWord(std::span<const BitPlane> planes, std::size_t rows,
                                           std::uint32_t* counts) {
  Count(planes, rows, counts);
}
[[gnu::target("avx512f,avx512vpopcntdq")]] void CountByEight(std::span<const BitPlane> planes,
                                                             std::size_t rows,
                                                             std::uint32_t* counts) {
  Count(planes, rows, counts);
}
#endif

Counting CountingFor(Instructions instructions) {
#ifdef __x86_64__
  if (instructions == Instructions::kAvx512 && __builtin_cpu_supports("avx512vpopcntdq") != 0) {
    return CountByEight;
  }
  if (instructions != Instructions::kPlain) return CountByWord;
#endif
  static_cast<void>(instructions);
  return CountPlain;
}

}  // namespace

std::vector<std::uint32_t> CountStates(std::span<const BitPlane> planes, std::size_t rows,
                                       Instructions instructions) {
  std::vector<std::uint32_t> counts(std::size_t{1} << planes.size());
  CountingFor(instructions)(planes, rows, counts.data());
  return counts;
}

}  // namespace reveza::phi
