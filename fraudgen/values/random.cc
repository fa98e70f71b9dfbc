#include "fraudgen/values/random.h"

#include <cassert>
#include <limits>
#include <numeric>
#include <vector>

#include "fraudgen/values/simd_width.h"

namespace reveza::fraudgen {

void FieldRandom::Fill(uint64_t row, std::span<uint64_t> bits, uint16_t draw) const {
  RunVectorised([random = *this, row, draw, bits] [[gnu::always_inline]] {
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = random.Bits(row + i, draw);
  });
}

void FieldRandom::FillAt(uint64_t row, std::span<const uint16_t> offsets, std::span<uint64_t> bits,
                         uint16_t draw) const {
  assert(bits.size() >= offsets.size());
  RunVectorised([random = *this, row, offsets, draw, out = bits.data()] [[gnu::always_inline]] {
    for (std::size_t i = 0; i < offsets.size(); ++i) out[i] = random.Bits(row + offsets[i], draw);
  });
}

void FieldRandom::FillAt(std::span<const uint64_t> rows, std::span<uint64_t> bits,
                         uint16_t draw) const {
  assert(bits.size() >= rows.size());
  RunVectorised([random = *this, rows, draw, out = bits.data()] [[gnu::always_inline]] {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = random.Bits(rows[i], draw);
  });
}

WeightedChoice::WeightedChoice(std::span<const uint32_t> weights) : columns_(weights.size()) {
  const uint64_t total = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  assert(weights.size() <= std::numeric_limits<uint16_t>::max());
  assert(total > 0 && total <= std::numeric_limits<uint32_t>::max());
  // Each column holds `total`, each choice its weight times the number of columns. Small choices
  // leave room in their column, which large ones fill.
  const auto count = static_cast<uint32_t>(weights.size());
  std::vector<uint64_t> left(count);
  std::vector<uint32_t> small;
  std::vector<uint32_t> large;
  for (uint32_t i = 0; i < count; ++i) {
    left[i] = uint64_t{weights[i]} * count;
    (left[i] < total ? small : large).push_back(i);
  }
  const uint64_t all = std::numeric_limits<uint64_t>::max();
  while (!small.empty()) {
    const uint32_t own = small.back();
    small.pop_back();
    // Integer arithmetic is exact, so while one column is short another has a surplus.
    const uint32_t other = large.back();
    const auto part = static_cast<unsigned __int128>(left[own]) << 64;
    const auto limit = static_cast<uint64_t>(part / total);
    columns_[own] = limit == 0 ? Column{.last_own = all, .own = other, .other = other}
                               : Column{.last_own = limit - 1, .own = own, .other = other};
    left[other] -= total - left[own];
    if (left[other] < total) {
      large.pop_back();
      small.push_back(other);
    }
  }
  for (const uint32_t full : large) {
    columns_[full] = Column{.last_own = all, .own = full, .other = full};
  }
}

}  // namespace reveza::fraudgen
