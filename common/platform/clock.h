// Monotonic time. Thread-safe.
#pragma once

#include <chrono>

namespace reveza::platform {

class Clock {
 public:
  virtual ~Clock() = default;
  // Returns the time since a fixed origin; never decreases.
  virtual std::chrono::nanoseconds Now() const = 0;
};

class MonotonicClock : public Clock {
 public:
  std::chrono::nanoseconds Now() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

}  // namespace reveza::platform
