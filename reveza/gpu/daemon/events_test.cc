#include "reveza/gpu/daemon/events.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace reveza::daemon {
namespace events_test {

using nlohmann::json;
using std::chrono::milliseconds;

TEST(EventLog, WritesValidTrace) {
  EventLog log;
  log.SetClientName(1, 77, 4711, "train-a");
  log.SetClientName(2, 78, 4712, "bad \xff name");
  log.Add({EventKind::kSlice, 0, 1, milliseconds(5), milliseconds(20), 0});
  log.Add({EventKind::kCopyOut, 3, 2, milliseconds(25), milliseconds(2), 12 * kMiB});
  log.Add({EventKind::kSlice, 0, 9, milliseconds(5), milliseconds(20), 0});
  const json trace = json::parse(log.ToJson(nlohmann::json::object()));
  const auto& events = trace.at("traceEvents");
  ASSERT_EQ(events.size(), 6u) << "two clients with two names each; the third is unnamed";
  EXPECT_EQ(events[0].at("args").at("name"), "train-a");
  EXPECT_EQ(events[2].at("name"), "slice");
  EXPECT_EQ(events[2].at("ph"), "X");
  EXPECT_EQ(events[2].at("ts"), 5000.0);
  EXPECT_EQ(events[2].at("dur"), 20000.0);
  EXPECT_EQ(events[2].at("tid"), 4711);
  EXPECT_EQ(events[5].at("args").at("bytes"), 12 * kMiB);
  EXPECT_EQ(events[5].at("args").at("gpu"), 3);
  EXPECT_NE(events[5].at("pid"), events[2].at("pid")) << "a row per job";
}

TEST(EventLog, KeepsMostRecentEvents) {
  EventLog log;
  for (std::size_t i = 0; i < EventLog::kMaxEvents + 10; ++i) {
    log.Add({EventKind::kWait, 0, 1, milliseconds(i), milliseconds(1), 0});
  }
  EXPECT_EQ(log.size(), EventLog::kMaxEvents);
  for (std::uint64_t i = 0; i < EventLog::kMaxNames + 10; ++i) log.SetClientName(i, 1, 1, "x");
  log.SetClientName(1'000'000, 5, 5, "last");
  log.Add({EventKind::kWait, 0, 1'000'000, milliseconds(1), milliseconds(1), 0});
  EXPECT_NE(log.ToJson(nlohmann::json::object()).find("last"), std::string::npos);
}

TEST(EventLog, ContinuesWhereTheLastAnswerEnded) {
  EventLog log;
  log.SetClientName(1, 0x77, 4711, "<b>train</b>");
  log.SetClientName(2, 0x78, 4712, "idle");
  log.SetClientName(3, 0x79, 4713, "gone");
  const std::size_t all = EventLog::kMaxAnswer + 5;
  for (std::size_t i = 0; i < all; ++i) {
    log.Add({EventKind::kSlice, 0, 1, milliseconds(i), milliseconds(1), i});
  }
  const json begin = log.Since(0, {2});
  EXPECT_EQ(begin.at("next"), EventLog::kMaxAnswer);
  EXPECT_EQ(begin.at("last"), all);
  EXPECT_EQ(begin.at("clients").size(), 2u) << "of the events, and the one that was asked for";
  EXPECT_EQ(begin.at("clients").at(0), json::array({1, "0000000000000077", 4711, "<b>train</b>"}));
  const json end = log.Since(begin.at("next"), {});
  ASSERT_EQ(end.at("events").size(), 5u);
  EXPECT_EQ(end.at("events").at(0),
            json::array({1, "slice", 0, EventLog::kMaxAnswer * 1e3, 1e3, EventLog::kMaxAnswer, 0}));
  EXPECT_TRUE(log.Since(all, {}).at("events").empty());
}

TEST(EventLog, TellsWhichEventsAreGone) {
  EventLog log;
  log.SetClientName(1, 1, 1, "x");
  for (std::size_t i = 0; i < EventLog::kMaxEvents + 10; ++i) {
    log.Add({EventKind::kWait, 0, 1, milliseconds(i), milliseconds(1), 0});
  }
  EXPECT_EQ(log.Since(0, {}).at("first"), 10);
  EXPECT_EQ(log.Since(1'000'000'000, {}).at("first"), 10) << "of an earlier daemon";
}

TEST(EventKind, EveryKindHasText) {
  for (int kind = 0; kind <= static_cast<int>(EventKind::kWaitMemory); ++kind) {
    EXPECT_STRNE(ToText(static_cast<EventKind>(kind)), "unknown");
  }
}

}  // namespace events_test
}  // namespace reveza::daemon
