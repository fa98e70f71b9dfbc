#include "fraudgen/values/permutation.h"

#include <cassert>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen {

// A Feistel network over an even number of bits; values outside the range are fed back until they
// fall into it (cycle walking), fewer than four steps on average.
Permutation::Permutation(uint64_t key, uint64_t size) : size_(size) {
  assert(size >= 1 && size <= uint64_t{1} << 62);
  while (half_bits_ < 31 && (uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
  half_mask_ = (uint64_t{1} << half_bits_) - 1;
  for (int round = 0; round < kRounds; ++round) {
    keys_[round] = Mix(Mix(key) + static_cast<uint64_t>(round));
  }
}

uint64_t Permutation::Forward(uint64_t value) const {
  uint64_t left = value >> half_bits_;
  uint64_t right = value & half_mask_;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t next = left ^ (Mix(right ^ keys_[round]) & half_mask_);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

uint64_t Permutation::Backward(uint64_t value) const {
  uint64_t left = value >> half_bits_;
  uint64_t right = value & half_mask_;
  for (int round = kRounds - 1; round >= 0; --round) {
    const uint64_t previous = right ^ (Mix(left ^ keys_[round]) & half_mask_);
    right = left;
    left = previous;
  }
  return left << half_bits_ | right;
}

uint64_t Permutation::At(uint64_t index) const {
  assert(index < size_);
  uint64_t value = Forward(index);
  while (value >= size_) value = Forward(value);
  return value;
}

uint64_t Permutation::IndexOf(uint64_t number) const {
  assert(number < size_);
  uint64_t value = Backward(number);
  while (value >= size_) value = Backward(value);
  return value;
}

}  // namespace reveza::fraudgen
