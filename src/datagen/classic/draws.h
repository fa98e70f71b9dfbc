// Short ways to use the bits of one random number for several fields, and to reach the columns of a
// batch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "datagen/batch.h"
#include "datagen/classic/batch_rows.h"
#include "datagen/random.h"

namespace reveza::datagen::classic {

// The 32 bits that UpperProduct and WeightedChoice hardly look at where the limit is small.
constexpr uint64_t LowerHalf(uint64_t bits) { return bits << 32; }

// Uniform from 0 to 99.
constexpr uint64_t Percent(uint64_t bits) { return UpperProduct(bits, 100); }

// The bits of one field for all rows of a batch, or for some of them.
class Drawn {
 public:
  Drawn(const FieldRandom& random, const BatchRows& rows) { rows.Draw(random, bits_); }
  Drawn(const FieldRandom& random, const BatchRows& rows, std::span<const uint16_t> places) {
    rows.DrawAt(random, places, bits_);
  }
  uint64_t operator[](std::size_t index) const { return bits_[index]; }

 private:
  std::array<uint64_t, Batch::kMaxRows> bits_;
};

template <typename ColumnIndex>
int64_t* Numbers(Batch& batch, ColumnIndex column) {
  return batch.column(static_cast<std::size_t>(column)).numbers.data();
}
template <typename ColumnIndex>
uint16_t* Codes(Batch& batch, ColumnIndex column) {
  return batch.column(static_cast<std::size_t>(column)).codes.data();
}
template <typename ColumnIndex>
uint8_t* Flags(Batch& batch, ColumnIndex column) {
  return batch.column(static_cast<std::size_t>(column)).flags.data();
}
template <typename ColumnIndex>
uint8_t* Present(Batch& batch, ColumnIndex column) {
  return batch.column(static_cast<std::size_t>(column)).present.data();
}
template <typename ColumnIndex>
ColumnValues& Texts(Batch& batch, ColumnIndex column) {
  return batch.column(static_cast<std::size_t>(column));
}

}  // namespace reveza::datagen::classic
