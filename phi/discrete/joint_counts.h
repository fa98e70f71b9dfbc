// Counts of joint states whose bits are given as bit sets over the rows (planes): 64 rows per
// operation. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "phi/arithmetic/processor.h"

namespace reveza::phi {

// One bit of each row: that of row i is bit (first + i) % 64 of words[(first + i) / 64]. The word
// after the last one must be readable.
struct BitPlane {
  const std::uint64_t* words = nullptr;
  std::size_t first = 0;
};

inline constexpr int kMaxPlanes = 8;

// Returns how many of `rows` rows are in each of the 2^planes.size() states, where planes[b] holds
// bit b of the state; 1 to kMaxPlanes planes. The counts do not depend on `instructions`.
std::vector<std::uint32_t> CountStates(std::span<const BitPlane> planes, std::size_t rows,
                                       Instructions instructions = SupportedInstructions());

}  // namespace reveza::phi
