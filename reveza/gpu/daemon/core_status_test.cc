#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reveza/gpu/daemon/testing_core.h"

namespace reveza::daemon {
namespace core_status_test {

using nlohmann::json;

TEST(CoreStatus, ShowsClientsWithFootprint) {
  TestingCore harness;
  harness.Start(1, 0x71, "train-a", 101, 60 * kMiB);
  harness.Start(2, 0x72, "bad \xff name", 102, 0);
  harness.Deliver(1, wire::GateRequested{});
  ASSERT_TRUE(harness.SwapIn(1, 60 * kMiB));
  harness.clock.Advance(std::chrono::seconds(10));
  const json status = json::parse(harness.core.StatusJson());
  EXPECT_EQ(status.at("uptime_s"), 10.0);
  EXPECT_EQ(status.at("gpu_budget"), nullptr);
  const json& gpu = status.at("gpus").at(0);
  EXPECT_EQ(gpu.at("total"), 256 * kMiB);
  EXPECT_EQ(gpu.at("budget"), 248 * kMiB);
  EXPECT_EQ(gpu.at("resident"), 76 * kMiB);
  EXPECT_EQ(gpu.at("used"), nullptr) << "unknown without NVML";
  ASSERT_EQ(status.at("clients").size(), 2u);
  const json& client = status.at("clients").at(0);
  EXPECT_EQ(client.at("job"), "0000000000000071");
  EXPECT_EQ(client.at("state"), "running");
  EXPECT_EQ(client.at("footprint").at("resident"), 60 * kMiB);
  EXPECT_EQ(client.at("copied_in"), 60 * kMiB);
  EXPECT_EQ(client.at("turns"), 1);
  EXPECT_EQ(client.at("unresponsive"), false);
}

TEST(CoreStatus, EventsTellWhatHasNotEnded) {
  TestingCore harness;
  harness.Start(1, 0x71, "train-a", 101, 200 * kMiB);
  harness.Start(2, 0x72, "train-b", 102, 200 * kMiB);
  harness.Deliver(1, wire::GateRequested{});
  ASSERT_TRUE(harness.SwapIn(1, 200 * kMiB));
  harness.clock.Advance(std::chrono::seconds(2));
  harness.Deliver(2, wire::GateRequested{});
  const json answer = json::parse(harness.core.EventsJson(0));
  EXPECT_EQ(answer.at("clients").size(), 2u);
  bool drain = false;
  bool wait = false;
  for (const auto& one : answer.at("open")) {
    drain |= one.at(0) == 1 && one.at(1) == "drain";
    wait |= one.at(0) == 2 && one.at(1) == "wait for its turn";
  }
  EXPECT_TRUE(drain && wait) << answer.dump();
  EXPECT_GT(answer.at("events").size(), 0u);
  EXPECT_EQ(json::parse(harness.core.EventsJson(answer.at("next"))).at("events").size(), 0u);
}

}  // namespace core_status_test
}  // namespace reveza::daemon
