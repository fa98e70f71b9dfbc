// Short ways to use the bits of one random number for several fields, and to reach the columns of a
// batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datagen/batch.h"
#include "datagen/random.h"

namespace reveza::datagen::classic {

// The 32 bits that UpperProduct and WeightedChoice hardly look at where the limit is small.
constexpr uint64_t LowerHalf(uint64_t bits) { return bits << 32; }

// Uniform from 0 to 99.
constexpr uint64_t Percent(uint64_t bits) { return UpperProduct(bits, 100); }

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
