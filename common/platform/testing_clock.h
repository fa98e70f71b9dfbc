// A clock that advances only when told to. Not thread-safe.
#pragma once

#include <chrono>

#include "common/platform/clock.h"

namespace reveza::platform {

class FakeClock : public Clock {
 public:
  std::chrono::nanoseconds Now() const override { return now_; }
  void Advance(std::chrono::nanoseconds step) { now_ += step; }

 private:
  std::chrono::nanoseconds now_{1};
};

}  // namespace reveza::platform
