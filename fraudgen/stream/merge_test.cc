#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "fraudgen/stream/block_source.h"
#include "fraudgen/stream/testing_events.h"

namespace reveza::fraudgen {
namespace merge_test {

std::vector<std::string> IdsOf(Merge& merge, std::size_t max_events) {
  std::vector<std::string> ids;
  std::vector<Event> events;
  while (merge.Next(max_events, events) && !events.empty()) {
    for (const Event& event : events) ids.emplace_back(event.id);
    if (ids.size() > 1'000'000) break;
  }
  return ids;
}

TEST(MergeTest, OrdersByTimeAndIdentifier) {
  std::mt19937 random(7);
  for (const std::size_t sources : {1, 2, 3, 7, 64}) {
    std::vector<TestingEvent> all;
    std::vector<std::vector<TestingEvent>> parts(sources);
    for (int i = 0; i < 2'000; ++i) {
      // Few distinct times, so that many are equal across sources and batches.
      const TestingEvent event = {.time = static_cast<int64_t>(random() % 300),
                                  .id = "T" + std::to_string(10'000 + (i * 7'919) % 10'000)};
      all.push_back(event);
      parts[random() % sources].push_back(event);
    }
    const auto before = [](const TestingEvent& one, const TestingEvent& other) {
      return std::tie(one.time, one.id) < std::tie(other.time, other.id);
    };
    std::ranges::sort(all, before);
    std::deque<TestingSource> made;
    std::vector<EventSource*> pointers;
    for (auto& part : parts) {
      std::ranges::sort(part, before);
      made.emplace_back(part, 1 + random() % 50);
    }
    for (TestingSource& source : made) pointers.push_back(&source);
    Merge merge(pointers);
    std::vector<std::string> wanted;
    for (const TestingEvent& event : all) wanted.push_back(event.id);
    EXPECT_EQ(IdsOf(merge, 1 + random() % 100), wanted) << sources;
    for (const TestingSource& source : made) {
      EXPECT_EQ(source.lent(), 0u);
      EXPECT_TRUE(source.released_in_order);
    }
  }
}

TEST(MergeTest, EventsAreValidUntilNextCall) {
  // Batches of one event are exhausted at once, but must stay valid.
  TestingSource one({{1, "a"}, {2, "b"}, {5, "e"}}, 1);
  TestingSource other({{3, "c"}, {4, "d"}}, 1);
  Merge merge({&one, &other});
  std::vector<Event> events;
  ASSERT_TRUE(merge.Next(10, events));
  std::string text;
  for (const Event& event : events) text += event.line;
  EXPECT_EQ(text,
            "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n{\"id\":\"d\"}\n{\"id\":\"e\"}\n");
  EXPECT_GT(one.lent(), 0u);
  ASSERT_TRUE(merge.Next(10, events));
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(one.lent() + other.lent(), 0u);
}

TEST(MergeTest, IsEmptyWithoutSources) {
  TestingSource empty({}, 1);
  Merge merge({&empty});
  EXPECT_TRUE(IdsOf(merge, 3).empty());
  Merge none({});
  EXPECT_TRUE(IdsOf(none, 3).empty());
}

TEST(MergeTest, ReturnsErrorOfSource) {
  TestingSource fine({{1, "a"}, {9, "z"}}, 1);
  TestingSource broken({{2, "b"}, {3, "c"}}, 1);
  broken.fail_at = 1;
  Merge merge({&fine, &broken});
  std::vector<Event> events;
  const Status status = merge.Next(10, events);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the source is broken");
}

}  // namespace merge_test
}  // namespace reveza::fraudgen
