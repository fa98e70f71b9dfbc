#include "interpose/queue_bound.h"

#include <gtest/gtest.h>

#include <cmath>

namespace reveza::interpose {
namespace {

constexpr std::int64_t kBound = 100'000;

// Two windows may be queued: together they must take at most the bound.
TEST(WindowTest, SettlesWhereTwoBatchesTakeAtMostTheBound) {
  for (const double call_us : {1.0, 50.0, 1000.0, 10'000.0, 49'000.0}) {
    Window window;
    for (int i = 0; i < 40; ++i) {
      const double batch = window.size() * call_us;
      window.BatchTook(static_cast<std::int64_t>(batch), kBound, batch > 100);
    }
    EXPECT_LE(2 * window.size() * call_us, kBound * 1.01) << call_us;
    EXPECT_GE(window.size(), 1);
  }
}

TEST(WindowTest, IsAtLeastOneHoweverLongACallTakes) {
  Window window;
  for (int i = 0; i < 10; ++i) window.BatchTook(3'000'000, kBound, true);
  EXPECT_EQ(window.size(), 1);
}

TEST(WindowTest, GrowsAgainWhenCallsBecomeShort) {
  Window window;
  window.BatchTook(3'000'000, kBound, true);
  EXPECT_EQ(window.size(), 1);
  for (int i = 0; i < 20; ++i) window.BatchTook(10, kBound, false);
  EXPECT_GT(window.size(), 1000);
}

TEST(WindowTest, HasAnUpperEnd) {
  Window window;
  for (int i = 0; i < 100; ++i) window.BatchTook(0, kBound, false);
  EXPECT_LE(window.size(), 8192);
}

}  // namespace
}  // namespace reveza::interpose
