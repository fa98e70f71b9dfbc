// A keyed permutation of 0..size-1: unique pseudo-random numbers without remembering those already
// drawn. Immutable and thread-safe.
#pragma once

#include <array>
#include <cstdint>

namespace reveza::fraudgen {

class Permutation {
 public:
  // `size` is 1 to 2^62. The permutation is a function of key and size only.
  Permutation(uint64_t key, uint64_t size);

  // Returns the number at `index`, which is below size().
  uint64_t At(uint64_t index) const;
  // Returns the inverse: IndexOf(At(i)) == i.
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

}  // namespace reveza::fraudgen
