// Byte counts. Sizes are powers of two (KiB, MiB, GiB); link speeds are decimal (GB/s).
#pragma once

#include <cstdint>

namespace reveza {

using Bytes = std::uint64_t;

inline constexpr Bytes kKiB = Bytes{1} << 10;
inline constexpr Bytes kMiB = Bytes{1} << 20;
inline constexpr Bytes kGiB = Bytes{1} << 30;

// Rounds up to a multiple of `granularity`.
constexpr Bytes RoundUp(Bytes n, Bytes granularity) {
  return (n + granularity - 1) / granularity * granularity;
}

}  // namespace reveza
