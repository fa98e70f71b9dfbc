// Random numbers by position for surrogates, bootstraps and null distributions: the same for any
// number of threads. Philox (phi/arithmetic) with the C library's functions, for measures may use
// them. Thread-safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "phi/arithmetic/philox.h"

namespace reveza::phi {

// What numbers are drawn for: other purposes, other numbers.
enum class Draw : std::uint32_t {
  kNullSeries = 1,
  kShift = 2,
  kPhase = 3,
  kBlock = 4,
  kNullTriple = 5
};

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, Draw draw, std::uint32_t replicate)
      : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}},
        draw_(static_cast<std::uint32_t>(draw)),
        replicate_(replicate) {}

  // Uniform in (0, 1), at `position`.
  double Uniform(std::uint64_t position) const { return Open(BlockAt(position), 0); }

  // Uniform in 0 .. count - 1. `count` >= 1.
  std::int64_t Below(std::uint64_t position, std::int64_t count) const {
    const auto drawn = static_cast<std::int64_t>(Uniform(position) * static_cast<double>(count));
    return drawn < count ? drawn : count - 1;
  }

  // Standard normal (Box and Muller 1958).
  double Normal(std::uint64_t position) const {
    const PhiloxBlock block = BlockAt(position);
    return std::sqrt(-2.0 * std::log(Open(block, 0))) *
           std::cos(2.0 * std::numbers::pi * Open(block, 2));
  }

 private:
  PhiloxBlock BlockAt(std::uint64_t position) const {
    return Philox({{static_cast<std::uint32_t>(position),
                    static_cast<std::uint32_t>(position >> 32), replicate_, draw_}},
                  key_);
  }
  static double Open(const PhiloxBlock& block, int first) {
    const std::uint64_t bits =
        (std::uint64_t{block.word[first]} << 20) | (block.word[first + 1] >> 12);
    return (static_cast<double>(bits) + 0.5) * 0x1p-52;
  }

  PhiloxKey key_;
  std::uint32_t draw_;
  std::uint32_t replicate_;
};

}  // namespace reveza::phi
