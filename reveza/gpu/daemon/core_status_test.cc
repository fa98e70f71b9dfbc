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

TEST(CoreStatus, DividesWhatComesInAmongTheGpus) {
  TestingCore harness;
  harness.Start(1, 0x71, "train", 101, 60 * kMiB);
  wire::ContextRequested message{};
  message.uuid[15] = 2;
  message.total = 256 * kMiB;
  harness.Deliver(1, message);
  ASSERT_TRUE(harness.Take<wire::ContextAdmitted>(1));
  harness.Deliver(1, wire::ContextCreated{1, 0, 8 * kMiB});
  harness.Deliver(1, wire::Account{1, 0, 0, 0, 20 * kMiB, 0, 8 * kMiB, 80 * kMiB});
  harness.Deliver(1, wire::GateRequested{});
  const auto order = harness.Take<wire::SwapIn>(1);
  ASSERT_TRUE(order);
  harness.ReportAccount(1, 60 * kMiB, 0, 0);
  harness.Deliver(1, wire::Account{1, 0, 0, 20 * kMiB, 0, 0, 8 * kMiB, 80 * kMiB});
  // The rest was never written, so it has no copy.
  harness.Deliver(1, wire::SwappedIn{order->serial, 2000, 40 * kMiB});
  const json gpus = json::parse(harness.core.StatusJson()).at("gpus");
  EXPECT_EQ(gpus.at(0).at("handover").at("bytes_in"), 30 * kMiB);
  EXPECT_EQ(gpus.at(1).at("handover").at("bytes_in"), 10 * kMiB);
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
