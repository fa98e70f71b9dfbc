// Counter-based random numbers for surrogates, bootstraps and null distributions, independent of
// the number of threads: Philox (phi/arithmetic) with the C library's functions, which measures may
// use. Thread-safe: pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "phi/arithmetic/philox.h"

namespace reveza::phi {

// The purpose of a draw; different purposes use independent streams.
enum class RandomPurpose : std::uint32_t {
  kNullSeries = 1,
  kShift = 2,
  kPhase = 3,
  kBlock = 4,
  kNullTriple = 5,
  kStart = 6,
  kTrial = 7,
  kSource = 8
};

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, RandomPurpose purpose, std::uint32_t replicate)
      : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}},
        purpose_(static_cast<std::uint32_t>(purpose)),
        replicate_(replicate) {}

  // Returns a number uniform in (0, 1).
  double Uniform(std::uint64_t position) const { return Open(BlockAt(position), 0); }

  // Returns an integer uniform in [0, count). `count` >= 1.
  std::int64_t UniformInt(std::uint64_t position, std::int64_t count) const {
    const auto drawn = static_cast<std::int64_t>(Uniform(position) * static_cast<double>(count));
    return drawn < count ? drawn : count - 1;
  }

  // Returns a standard normal number (Box and Muller 1958).
  double Normal(std::uint64_t position) const {
    const PhiloxBlock block = BlockAt(position);
    return std::sqrt(-2.0 * std::log(Open(block, 0))) *
           std::cos(2.0 * std::numbers::pi * Open(block, 2));
  }

 private:
  PhiloxBlock BlockAt(std::uint64_t position) const {
    return Philox({{static_cast<std::uint32_t>(position),
                    static_cast<std::uint32_t>(position >> 32), replicate_, purpose_}},
                  key_);
  }
  static double Open(const PhiloxBlock& block, int first) {
    const std::uint64_t bits =
        (std::uint64_t{block.word[first]} << 20) | (block.word[first + 1] >> 12);
    return (static_cast<double>(bits) + 0.5) * 0x1p-52;
  }

  PhiloxKey key_;
  std::uint32_t purpose_;
  std::uint32_t replicate_;
};

}  // namespace reveza::phi
