// Random numbers of many rows at once. The loops are compiled three times, for processors that work
// on one, four or eight 64-bit numbers in one go, which takes an eighth of the time; integers are
// the same in all of them.
#include <cassert>
#include <cstddef>

#include "datagen/random.h"
#include "datagen/vectors.h"

namespace reveza::datagen {
namespace {

// `rows(i)`: the row of the i-th number. By value, so that the compiler sees that nothing changes
// it.
template <typename Rows>
[[gnu::always_inline]] inline void FillLoop(const FieldRandom random, const Rows rows,
                                            const uint16_t draw, uint64_t* const bits,
                                            const std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bits[i] = random.Bits(rows(i), draw);
}

struct Consecutive {
  uint64_t first;
  [[gnu::always_inline]] uint64_t operator()(std::size_t i) const { return first + i; }
};
struct AtOffsets {
  uint64_t first;
  const uint16_t* offsets;
  [[gnu::always_inline]] uint64_t operator()(std::size_t i) const { return first + offsets[i]; }
};
struct Listed {
  const uint64_t* rows;
  [[gnu::always_inline]] uint64_t operator()(std::size_t i) const { return rows[i]; }
};

#if defined(__x86_64__)
template <typename Rows>
[[gnu::target("avx512dq,avx512vl")]] void FillByEight(const FieldRandom& random, const Rows rows,
                                                      uint16_t draw, std::span<uint64_t> bits) {
  FillLoop(random, rows, draw, bits.data(), bits.size());
}
template <typename Rows>
[[gnu::target("avx2")]] void FillByFour(const FieldRandom& random, const Rows rows, uint16_t draw,
                                        std::span<uint64_t> bits) {
  FillLoop(random, rows, draw, bits.data(), bits.size());
}
#endif

template <typename Rows>
void FillAny(const FieldRandom& random, const Rows rows, uint16_t draw, std::span<uint64_t> bits) {
#if defined(__x86_64__)
  switch (VectorsOfProcessor()) {
    case Vectors::kEight:
      return FillByEight(random, rows, draw, bits);
    case Vectors::kFour:
      return FillByFour(random, rows, draw, bits);
    case Vectors::kNarrow:
      break;
  }
#endif
  FillLoop(random, rows, draw, bits.data(), bits.size());
}

}  // namespace

void FieldRandom::Fill(uint64_t row, std::span<uint64_t> bits, uint16_t draw) const {
  FillAny(*this, Consecutive{row}, draw, bits);
}

void FieldRandom::FillAt(uint64_t row, std::span<const uint16_t> offsets, std::span<uint64_t> bits,
                         uint16_t draw) const {
  assert(bits.size() >= offsets.size());
  FillAny(*this, AtOffsets{row, offsets.data()}, draw, bits.first(offsets.size()));
}

void FieldRandom::FillAt(std::span<const uint64_t> rows, std::span<uint64_t> bits,
                         uint16_t draw) const {
  assert(bits.size() >= rows.size());
  FillAny(*this, Listed{rows.data()}, draw, bits.first(rows.size()));
}

}  // namespace reveza::datagen
