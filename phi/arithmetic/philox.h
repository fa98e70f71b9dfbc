// Philox4x32-10, a counter-based generator: four 32-bit random numbers as a function of a counter
// and a key, available in any order on any machine. Integer operations only.
//
// J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: Parallel random numbers: as easy as 1, 2, 3.
// Proceedings of SC11 (2011), section 3.3 and table 2; the constants are those of Random123.
//
// Thread-safe: pure functions, usable on CPU and GPU.
#pragma once

#include <cstdint>

#include "phi/arithmetic/host_device.h"

namespace reveza::phi {

struct PhiloxBlock {
  std::uint32_t word[4];
};

struct PhiloxKey {
  std::uint32_t word[2];
};

inline constexpr int kPhiloxRounds = 10;
inline constexpr std::uint32_t kPhiloxFactor0 = 0xD2511F53U;
inline constexpr std::uint32_t kPhiloxFactor1 = 0xCD9E8D57U;
inline constexpr std::uint32_t kPhiloxStep0 = 0x9E3779B9U;
inline constexpr std::uint32_t kPhiloxStep1 = 0xBB67AE85U;

PHI_HOST_DEVICE constexpr PhiloxBlock Philox(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kPhiloxFactor0} * counter.word[0];
    const std::uint64_t product1 = std::uint64_t{kPhiloxFactor1} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(product1 >> 32) ^ counter.word[1] ^ key.word[0],
                static_cast<std::uint32_t>(product1),
                static_cast<std::uint32_t>(product0 >> 32) ^ counter.word[3] ^ key.word[1],
                static_cast<std::uint32_t>(product0)}};
    key.word[0] += kPhiloxStep0;
    key.word[1] += kPhiloxStep1;
  }
  return counter;
}

}  // namespace reveza::phi
