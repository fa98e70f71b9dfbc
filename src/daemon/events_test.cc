#include "daemon/events.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace reveza::daemon {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

TEST(EventLog, WritesATraceThatCanBeRead) {
  EventLog log;
  log.Name(1, 77, 4711, "train-a");
  log.Name(2, 78, 4712, "bad \xff name");
  log.Add({EventKind::kSlice, 0, 1, milliseconds(5), milliseconds(20), 0});
  log.Add({EventKind::kCopyOut, 3, 2, milliseconds(25), milliseconds(2), 12 * kMiB});
  log.Add({EventKind::kSlice, 0, 9, milliseconds(5), milliseconds(20), 0});
  const json trace = json::parse(log.ToJson());
  const auto& events = trace.at("traceEvents");
  ASSERT_EQ(events.size(), 6u) << "two clients with two names each; nobody knows the third";
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

TEST(EventLog, KeepsTheLastOnes) {
  EventLog log;
  for (std::size_t i = 0; i < EventLog::kMostEvents + 10; ++i) {
    log.Add({EventKind::kWait, 0, 1, milliseconds(i), milliseconds(1), 0});
  }
  EXPECT_EQ(log.size(), EventLog::kMostEvents);
  for (std::uint64_t i = 0; i < EventLog::kMostNames + 10; ++i) log.Name(i, 1, 1, "x");
  log.Name(1'000'000, 5, 5, "last");
  log.Add({EventKind::kWait, 0, 1'000'000, milliseconds(1), milliseconds(1), 0});
  EXPECT_NE(log.ToJson().find("last"), std::string::npos);
}

TEST(EventKind, EachHasItsName) {
  for (int kind = 0; kind <= static_cast<int>(EventKind::kWaitMemory); ++kind) {
    EXPECT_STRNE(ToText(static_cast<EventKind>(kind)), "unknown");
  }
}

}  // namespace
}  // namespace reveza::daemon
