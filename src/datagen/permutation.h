// A keyed permutation of 0..size-1: unique numbers without a set of those already given.
// Immutable, so safe from any thread.
#pragma once

#include <array>
#include <cstdint>

namespace reveza::datagen {

class Permutation {
 public:
  // `size` from 1 to 2^62. The same key and size give the same permutation, always.
  Permutation(uint64_t key, uint64_t size);

  // The number that stands at `index`, which is below size().
  uint64_t At(uint64_t index) const;
  // The index at which `number` stands: IndexOf(At(i)) == i.
  uint64_t IndexOf(uint64_t number) const;

  uint64_t size() const { return size_; }

 private:
  static constexpr int kRounds = 8;

  uint64_t Forward(uint64_t value) const;
  uint64_t Backward(uint64_t value) const;

  uint64_t size_;
  int half_bits_ = 1;
  uint64_t half_mask_ = 1;
  std::array<uint64_t, kRounds> keys_{};
};

}  // namespace reveza::datagen
