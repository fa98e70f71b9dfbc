#include "platform/clock.h"

#include <gtest/gtest.h>

namespace reveza::platform {
namespace {

TEST(MonotonicClock, NeverGoesBack) {
  const MonotonicClock clock;
  auto last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const auto now = clock.Now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(FakeClock, MovesWhenTold) {
  FakeClock clock;
  const auto before = clock.Now();
  clock.Advance(std::chrono::seconds(2));
  EXPECT_EQ(clock.Now() - before, std::chrono::seconds(2));
}

}  // namespace
}  // namespace reveza::platform
