// Times as the supervisor keeps them: nanoseconds of a clock of the kernel. Safe from any thread.
#pragma once

#include <sys/time.h>
#include <time.h>

#include <cstdint>

namespace reveza::runner {

inline constexpr std::int64_t kSecond = 1'000'000'000;

inline std::int64_t Clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}
// Since any origin; it does not go back.
inline std::int64_t Now() { return Clock(CLOCK_MONOTONIC); }

inline std::int64_t Nanoseconds(const timeval& time) {
  return time.tv_sec * kSecond + std::int64_t{time.tv_usec} * 1000;
}

}  // namespace reveza::runner
