// User interface of a thread blocked at the closed gate: prints the reason on stderr after five
// seconds and then once a minute, and makes Ctrl-C work.
#pragma once

#include <time.h>

#include <cstdint>

#include "reveza/gpu/interpose/interrupts.h"

namespace reveza::interpose {

// Returns the time of CLOCK_MONOTONIC in microseconds.
inline std::int64_t NowMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

// The lines that a waiting thread prints: after five seconds, then once a minute.
class WaitNotices {
 public:
  std::int64_t next_us() const { return next_us_; }
  // Prints "waiting for WHAT for N s: " and the daemon's reason, or `unknown`, if a line is due.
  void Print(const char* what, const char* unknown);

 private:
  std::int64_t began_us_ = NowMicroseconds();
  std::int64_t next_us_ = began_us_ + 5'000'000;
};

class GateWait {
 public:
  GateWait();

  // Returns the time to sleep before the next Tick().
  timespec NextTimeout() const;
  // Call when a signal interrupted the sleep.
  void OnInterrupt() { interrupts_.Check(); }
  // Prints a line if one is due.
  void Tick();

 private:
  WaitNotices notices_;
  InterruptWatch interrupts_;
};

// Prints "reveza: ..." as one line on stderr, unless REVEZA_QUIET=1. Truncates at 500 characters.
__attribute__((format(printf, 1, 2))) void PrintNotice(const char* format, ...);

}  // namespace reveza::interpose
