// A keyed permutation of 0..size-1 for identifiers: cheaper than Permutation, without an inverse,
// and only as random as what people read must be. Immutable, so safe from any thread.
#pragma once

#include <bit>
#include <cstdint>

#include "datagen/random.h"

namespace reveza::datagen::coherent {

class Scramble {
 public:
  // `size` from 1 to 2^62.
  constexpr Scramble(uint64_t key, uint64_t size)
      : size_(size),
        bits_(size <= 4 ? 2 : std::bit_width(size - 1)),
        mask_((uint64_t{1} << bits_) - 1),
        first_(Mix(key) | 1),
        second_(Mix(key + 1) | 1),
        offset_(Mix(key + 2)) {}

  // Multiplying by an odd number and folding the upper half into the lower one can both be undone;
  // what is led out of the range is led on until it is back in it.
  constexpr uint64_t At(uint64_t index) const {
    uint64_t value = Step(index);
    while (value >= size_) value = Step(value);
    return value;
  }
  constexpr uint64_t size() const { return size_; }
  // A permutation of the numbers of as many bits as the range needs.
  [[gnu::always_inline]] constexpr uint64_t Step(uint64_t value) const {
    value = ((value + offset_) * first_) & mask_;
    value ^= value >> (bits_ / 2 + 1);
    value = (value * second_) & mask_;
    value ^= value >> (bits_ / 2 + 1);
    value = (value * first_) & mask_;
    return value ^ value >> (bits_ / 2);
  }

 private:
  uint64_t size_;
  int bits_;
  uint64_t mask_;
  uint64_t first_;
  uint64_t second_;
  uint64_t offset_;
};

}  // namespace reveza::datagen::coherent
