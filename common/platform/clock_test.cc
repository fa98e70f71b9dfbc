#include "common/platform/clock.h"

#include <gtest/gtest.h>

#include "common/platform/testing_clock.h"

namespace reveza::platform {
namespace clock_test {

TEST(MonotonicClock, NeverDecreases) {
  const MonotonicClock clock;
  auto last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const auto now = clock.Now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(FakeClock, AdvancesOnlyExplicitly) {
  FakeClock clock;
  const auto before = clock.Now();
  clock.Advance(std::chrono::seconds(2));
  EXPECT_EQ(clock.Now() - before, std::chrono::seconds(2));
}

}  // namespace clock_test
}  // namespace reveza::platform
