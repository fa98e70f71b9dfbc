#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/testing_desk.h"

namespace reveza::daemon {
namespace {

using nlohmann::json;

TEST(CoreStatus, ShowsEachClientWithItsFootprint) {
  TestingDesk desk;
  desk.Start(1, 0x71, "train-a", 101, 60 * kMiB);
  desk.Start(2, 0x72, "bad \xff name", 102, 0);
  desk.Say(1, wire::GateWanted{});
  ASSERT_TRUE(desk.SwapIn(1, 60 * kMiB));
  desk.clock.Advance(std::chrono::seconds(10));
  const json status = json::parse(desk.core.StatusJson());
  EXPECT_EQ(status.at("uptime_s"), 10.0);
  EXPECT_EQ(status.at("gpu_budget"), nullptr);
  const json& gpu = status.at("gpus").at(0);
  EXPECT_EQ(gpu.at("total"), 256 * kMiB);
  EXPECT_EQ(gpu.at("budget"), 248 * kMiB);
  EXPECT_EQ(gpu.at("resident"), 76 * kMiB);
  EXPECT_EQ(gpu.at("used"), nullptr) << "without NVML nobody knows";
  ASSERT_EQ(status.at("clients").size(), 2u);
  const json& client = status.at("clients").at(0);
  EXPECT_EQ(client.at("job"), "0000000000000071");
  EXPECT_EQ(client.at("state"), "running");
  EXPECT_EQ(client.at("footprint").at("resident"), 60 * kMiB);
  EXPECT_EQ(client.at("copied_in"), 60 * kMiB);
  EXPECT_EQ(client.at("turns"), 1);
  EXPECT_EQ(client.at("not_answering"), false);
}

}  // namespace
}  // namespace reveza::daemon
