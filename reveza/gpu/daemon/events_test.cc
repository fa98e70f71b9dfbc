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

TEST(EventKind, EveryKindHasText) {
  for (int kind = 0; kind <= static_cast<int>(EventKind::kWaitMemory); ++kind) {
    EXPECT_STRNE(ToText(static_cast<EventKind>(kind)), "unknown");
  }
}

}  // namespace events_test
}  // namespace reveza::daemon
