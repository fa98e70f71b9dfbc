// Monotonic time. Thread-safety: MonotonicClock any; FakeClock none.
#pragma once

#include <chrono>

namespace reveza::platform {

class Clock {
 public:
  virtual ~Clock() = default;
  // Since any fixed origin; never goes back.
  virtual std::chrono::nanoseconds Now() const = 0;
};

class MonotonicClock : public Clock {
 public:
  std::chrono::nanoseconds Now() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

class FakeClock : public Clock {
 public:
  std::chrono::nanoseconds Now() const override { return now_; }
  void Advance(std::chrono::nanoseconds step) { now_ += step; }

 private:
  std::chrono::nanoseconds now_{1};
};

}  // namespace reveza::platform
