// Tests which client messages are accepted, and when.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reveza/gpu/daemon/testing_core.h"

namespace reveza::daemon {
namespace core_messages_test {

TEST(CoreMessages, RejectsMessagesForUnassignedGpu) {
  TestingCore harness;
  harness.Hello(1, 71, "a", 101);
  EXPECT_FALSE(harness.Deliver(1, wire::ContextCreated{0, 0, 1}));
  EXPECT_FALSE(harness.Deliver(1, wire::Account{}));
  EXPECT_FALSE(
      harness.Deliver(1, wire::GrowthRequested{1, 0, wire::GrowthKind::kSwappable, 0, kMiB}));
  EXPECT_FALSE(harness.Deliver(1, wire::Evicted{}));
  EXPECT_FALSE(harness.Deliver(1, wire::StatusRequest{})) << "clients may not request status";
  EXPECT_FALSE(harness.Deliver(9, wire::GateRequested{})) << "unknown client";
  EXPECT_TRUE(harness.Deliver(1, wire::GateRequested{}));
  EXPECT_TRUE(harness.Deliver(1, wire::Idle{}));
  EXPECT_TRUE(harness.Deliver(1, wire::GateClosed{99, 0, 0, 0}))
      << "a stale answer is no violation";
}

TEST(CoreMessages, RejectsMoreThanSixteenGpus) {
  TestingCore harness;
  harness.Hello(1, 71, "a", 101);
  wire::ContextRequested message{};
  message.total = 256 * kMiB;
  for (std::uint8_t i = 1; i <= wire::kMaxGpus; ++i) {
    message.uuid[0] = i;
    EXPECT_TRUE(harness.Deliver(1, message));
  }
  message.uuid[0] = 99;
  EXPECT_FALSE(harness.Deliver(1, message));
}

TEST(CoreMessages, RejectsSecondResumedForSameGpu) {
  TestingCore harness;
  harness.Hello(1, 71, "a", 101, wire::kHelloResuming, true);
  wire::Resumed resumed{};
  resumed.total = 256 * kMiB;
  resumed.resident = 64 * kMiB;
  resumed.credit = 64 * kMiB;
  EXPECT_TRUE(harness.Deliver(1, resumed));
  const auto admitted = harness.Take<wire::ContextAdmitted>(1);
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->credit, 0u);
  EXPECT_EQ(admitted->budget, 248 * kMiB / 32 * 31) << "less the reserve for contexts of others";
  EXPECT_FALSE(harness.Deliver(1, resumed));
}

TEST(CoreMessages, WhatLiesOnTheHostIsShownAndTraced) {
  TestingCore harness;
  EXPECT_FALSE(harness.Deliver(1, wire::HostBacked{}));
  harness.Start(1, 0x71, "train-a", 101, 60 * kMiB);
  using nlohmann::json;
  const auto shown = [&] {
    return json::parse(harness.core.StatusJson()).at("clients").at(0).at("on_host");
  };
  EXPECT_EQ(shown(), nullptr);
  EXPECT_FALSE(harness.Deliver(1, wire::HostBacked{3, 0, 0, 0, 0, 0, 0}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(harness.Deliver(1, wire::HostBacked{.gpu = 0,
                                                    .full = 1,
                                                    .bytes = 90 * kMiB,
                                                    .hot = 30 * kMiB,
                                                    .promoted = 2 * kMiB,
                                                    .demoted = 4 * kMiB,
                                                    .pass_us = 1500}));
  }
  EXPECT_EQ(shown(), (json{{"bytes", 90 * kMiB},
                           {"hot", 30 * kMiB},
                           {"fits", false},
                           {"pass_ms", 1.5},
                           {"promoted", 4 * kMiB},
                           {"demoted", 8 * kMiB}}));
  const std::string trace = harness.core.TraceJson();
  EXPECT_NE(trace.find("\"promote\""), std::string::npos) << trace;
  EXPECT_NE(trace.find("\"demote\""), std::string::npos) << trace;
}

}  // namespace core_messages_test
}  // namespace reveza::daemon
