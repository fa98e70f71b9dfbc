#include "datagen/coherent/event_order.h"

#include <gtest/gtest.h>

#include "datagen/random.h"

namespace reveza::datagen::coherent {
namespace {

TEST(EventOrder, IsByTimeAndThenAsAdded) {
  EventOrder order;
  for (int round = 0; round < 2; ++round) {
    constexpr int64_t kBegin = 1'700'000'000'000'000;
    order.Begin(kBegin);
    for (uint32_t i = 0; i < 5'000; ++i) {
      // Some at the same time, some as late as a month ends.
      const auto time = static_cast<int64_t>(Mix(i) % 1'000) * 2'678'400'000;
      order.Add(kBegin + time, {.customer = i, .index = i});
    }
    order.Sort();
    ASSERT_EQ(order.size(), 5'000u);
    for (std::size_t i = 1; i < order.size(); ++i) {
      ASSERT_LE(order.TimeAt(i - 1), order.TimeAt(i));
      if (order.TimeAt(i - 1) == order.TimeAt(i)) {
        ASSERT_LT(order.At(i - 1).customer, order.At(i).customer);
      }
      ASSERT_EQ(order.TimeAt(i) - kBegin,
                static_cast<int64_t>(Mix(order.At(i).customer) % 1'000) * 2'678'400'000);
    }
  }
}

TEST(EventOrder, MayBeEmpty) {
  EventOrder order;
  order.Begin(0);
  order.Sort();
  EXPECT_EQ(order.size(), 0u);
}

}  // namespace
}  // namespace reveza::datagen::coherent
