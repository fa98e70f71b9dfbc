#include "reveza/gpu/interpose/queue_bound.h"

#include <gtest/gtest.h>

#include <cmath>

namespace reveza::interpose {
namespace queue_bound_test {

constexpr std::int64_t kBound = 100'000;

// Two windows may be queued; together they must not exceed the bound.
TEST(WindowTest, ConvergesToTwoBatchesWithinTheBound) {
  for (const double call_us : {1.0, 50.0, 1000.0, 10'000.0, 49'000.0}) {
    Window window;
    for (int i = 0; i < 40; ++i) {
      const double batch = window.size() * call_us;
      window.OnBatchDone(static_cast<std::int64_t>(batch), kBound, batch > 100);
    }
    EXPECT_LE(2 * window.size() * call_us, kBound * 1.01) << call_us;
    EXPECT_GE(window.size(), 1);
  }
}

TEST(WindowTest, IsAtLeastOne) {
  Window window;
  for (int i = 0; i < 10; ++i) window.OnBatchDone(3'000'000, kBound, true);
  EXPECT_EQ(window.size(), 1);
}

TEST(WindowTest, GrowsWhenCallsBecomeShort) {
  Window window;
  window.OnBatchDone(3'000'000, kBound, true);
  EXPECT_EQ(window.size(), 1);
  for (int i = 0; i < 20; ++i) window.OnBatchDone(10, kBound, false);
  EXPECT_GT(window.size(), 1000);
}

TEST(WindowTest, HasAMaximum) {
  Window window;
  for (int i = 0; i < 100; ++i) window.OnBatchDone(0, kBound, false);
  EXPECT_LE(window.size(), 8192);
}

TEST(PatienceTest, FourWaitsInVainExhaustIt) {
  Patience patience;
  std::int64_t total = 0;
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(patience.exhausted());
    total += patience.LimitUs(kBound, false);
    patience.OnExpired();
  }
  EXPECT_TRUE(patience.exhausted());
  EXPECT_LT(total, 140 * kBound);
}

TEST(PatienceTest, BatchThatEndsRestoresIt) {
  Patience patience;
  for (int i = 0; i < 10; ++i) {
    patience.OnExpired();
    EXPECT_LT(patience.LimitUs(kBound, false), 100 * kBound);
    patience.OnDone();
    EXPECT_EQ(patience.LimitUs(kBound, false), 100 * kBound);
  }
  EXPECT_FALSE(patience.exhausted());
}

TEST(PatienceTest, IsShorterForAKnownWait) {
  const Patience patience;
  EXPECT_EQ(patience.LimitUs(kBound, true), 10 * kBound);
}

}  // namespace queue_bound_test
}  // namespace reveza::interpose
