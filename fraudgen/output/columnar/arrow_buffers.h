// Buffers of Arrow arrays made of vectors. Reentrant.
#pragma once

#include <arrow/buffer.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

namespace reveza::fraudgen {

inline constexpr std::array<int64_t, 19> kPowersOfTen = [] {
  std::array<int64_t, 19> powers{};
  int64_t power = 1;
  for (int64_t& entry : powers) {
    entry = power;
    power *= power < std::numeric_limits<int64_t>::max() / 10 ? 10 : 1;
  }
  return powers;
}();

// Packs bytes of 0 or 1 into bits, the first in the lowest. Returns the number of zeros.
inline int64_t PackBits(std::vector<uint8_t>& bytes, std::size_t rows, std::vector<uint8_t>& bits) {
  bytes.resize((rows + 7) / 8 * 8);  // pads with zeros
  bits.resize(bytes.size() / 8);
  const auto ones = std::ranges::count(bytes, uint8_t{1});
  for (std::size_t i = 0; i < bits.size(); ++i) {
    uint64_t eight = 0;
    std::memcpy(&eight, bytes.data() + 8 * i, sizeof eight);
    // The highest byte of the product collects the eight bits without carries.
    bits[i] = static_cast<uint8_t>((eight * 0x0102'0408'1020'4080u) >> 56);
  }
  return static_cast<int64_t>(rows) - ones;
}

// Returns a buffer of the vector's memory, valid until the vector changes.
template <typename T>
std::shared_ptr<arrow::Buffer> WrapVector(const std::vector<T>& values) {
  return std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(values.data()),
                                         static_cast<int64_t>(values.size() * sizeof(T)));
}

}  // namespace reveza::fraudgen
