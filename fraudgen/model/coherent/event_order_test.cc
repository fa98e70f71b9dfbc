#include "fraudgen/model/coherent/event_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "fraudgen/values/random.h"

namespace reveza::fraudgen::coherent {
namespace event_order_test {

constexpr int64_t kBegin = 1'700'000'000'000'000;

// Some times are equal, some at the end of the month.
int64_t TimeOf(uint32_t number) {
  return kBegin + static_cast<int64_t>(Mix(number) % 1'000) * 2'678'400'000;
}

TEST(EventOrder, SortsStablyByTime) {
  EventOrder order;
  for (int round = 0; round < 2; ++round) {
    order.Begin(kBegin);
    for (uint32_t i = 0; i < 5'000; ++i) {
      order.BeginCustomer(i);
      order.Add(TimeOf(i));
    }
    order.Sort();
    ASSERT_EQ(order.size(), 5'000u);
    for (std::size_t i = 1; i < order.size(); ++i) {
      ASSERT_LE(order.TimeAt(i - 1), order.TimeAt(i));
      if (order.TimeAt(i - 1) == order.TimeAt(i)) {
        ASSERT_LT(order.At(i - 1).customer, order.At(i).customer);
      }
      ASSERT_EQ(order.TimeAt(i), TimeOf(order.At(i).customer));
    }
  }
}

// Customers with many events, with one and with none, then frauds.
TEST(EventOrder, AttributesEventsToCustomersAndFrauds) {
  constexpr uint32_t kCustomers = 700;
  constexpr uint32_t kFirstPlan = 90;
  constexpr uint32_t kPlans = 50;
  const auto events_of = [](uint32_t customer) {
    return customer % 3 != 0 ? 0 : static_cast<uint32_t>(Mix(customer) % 100);
  };
  const auto number = [](const Event& event) {
    return event.fraud ? 1'000'000 + event.index : event.customer * 1'000 + event.index;
  };
  EventOrder order;
  order.Begin(kBegin);
  std::size_t events = kPlans;
  for (uint32_t i = 0; i < kCustomers; ++i) {
    order.BeginCustomer(i);
    for (uint32_t k = 0; k < events_of(i); ++k) order.Add(TimeOf(i * 1'000 + k));
    events += events_of(i);
  }
  order.BeginFrauds(kFirstPlan);
  for (uint32_t i = 0; i < kPlans; ++i) order.Add(TimeOf(1'000'000 + kFirstPlan + i));
  order.Sort();
  ASSERT_EQ(order.size(), events);
  std::size_t frauds = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Event event = order.At(i);
    ASSERT_EQ(order.TimeAt(i), TimeOf(number(event)));
    if (event.fraud) {
      ASSERT_GE(event.index, kFirstPlan);
      ASSERT_LT(event.index, kFirstPlan + kPlans);
      ++frauds;
    } else {
      ASSERT_LT(event.index, events_of(event.customer));
    }
  }
  EXPECT_EQ(frauds, kPlans);
}

// Spread over a month, some hours, a second, or all at once.
TEST(EventOrder, SortsAnyDensity) {
  for (const uint64_t span :
       {uint64_t{2'678'400'000'000}, uint64_t{20'000'000'000}, uint64_t{1'000'000}, uint64_t{1}}) {
    std::vector<std::pair<int64_t, uint32_t>> expected;
    EventOrder order;
    order.Begin(kBegin);
    order.BeginCustomer(0);
    for (uint32_t i = 0; i < 60'000; ++i) {
      expected.emplace_back(kBegin + static_cast<int64_t>(Mix(i) % span), i);
      order.Add(expected.back().first);
    }
    order.Sort();
    std::ranges::sort(expected);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(std::pair(order.TimeAt(i), order.At(i).index), expected[i]) << span;
    }
  }
}

TEST(EventOrder, UsesAboutEightBytesPerEvent) {
  constexpr std::size_t kCustomers = 1'000;
  constexpr std::size_t kEach = 80;
  EventOrder order;
  order.Reserve(kCustomers * kEach);
  order.Begin(kBegin);
  for (uint32_t i = 0; i < kCustomers; ++i) {
    order.BeginCustomer(i);
    for (uint32_t k = 0; k < kEach; ++k) order.Add(TimeOf(i * kEach + k));
  }
  order.Sort();
  EXPECT_LT(order.bytes(), kCustomers * kEach * 9);
}

TEST(EventOrder, MayBeEmpty) {
  EventOrder order;
  order.Begin(0);
  order.BeginFrauds(0);
  order.Sort();
  EXPECT_EQ(order.size(), 0u);
}

}  // namespace event_order_test
}  // namespace reveza::fraudgen::coherent
