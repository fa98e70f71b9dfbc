#include "daemon/core.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/testing_desk.h"

namespace reveza::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Core, TwoThatDoNotFitTakeTurns) {
  TestingDesk desk;
  desk.Start(1, 71, "train-a", 101, 160 * kMiB);
  desk.Say(1, wire::GateWanted{});
  ASSERT_TRUE(desk.SwapIn(1, 160 * kMiB));
  ASSERT_TRUE(desk.Take<wire::OpenGate>(1));

  desk.Start(2, 72, "train-b", 102, 160 * kMiB);
  desk.Say(2, wire::GateWanted{});
  const auto why = desk.Take<wire::Why>(2);
  ASSERT_TRUE(why);
  EXPECT_NE(std::string(why->text).find("train-a (pid 101)"), std::string::npos) << why->text;
  EXPECT_TRUE(desk.Take<wire::Contention>(1));

  std::optional<wire::CloseGate> close;
  for (int i = 0; i < 60 && !close; ++i) {
    desk.Advance(seconds(1));
    close = desk.Take<wire::CloseGate>(1);
  }
  ASSERT_TRUE(close);
  desk.Say(1, wire::GateClosed{close->serial, 10, 20, 0});
  const auto evict = desk.Take<wire::Evict>(1);
  ASSERT_TRUE(evict);
  EXPECT_GE(evict->bytes, 88 * kMiB) << "what does not fit beside";
  desk.SayBooks(1, 0, 160 * kMiB, 160 * kMiB);
  desk.Say(
      1, wire::Evicted{evict->serial, 0, 160 * kMiB, 160 * kMiB, 3000, wire::EvictFailure::kNone});
  desk.clock.Advance(milliseconds(5));
  ASSERT_TRUE(desk.SwapIn(2, 160 * kMiB));
  ASSERT_TRUE(desk.Take<wire::OpenGate>(2));

  const auto status = nlohmann::json::parse(desk.core.StatusJson());
  const auto& handover = status.at("gpus").at(0).at("handover");
  EXPECT_EQ(handover.at("count"), 1);
  EXPECT_EQ(handover.at("mean_ms"), 5.0);
  EXPECT_EQ(handover.at("out_ms"), 3.0);
  EXPECT_EQ(handover.at("bytes_out"), 160 * kMiB);
  const auto trace = desk.core.TraceJson();
  for (const char* part : {"slice", "drain", "copy out", "copy in", "wait for its turn"}) {
    EXPECT_NE(trace.find(part), std::string::npos) << part;
  }
}

TEST(Core, DeathGivesTheTurnToTheNext) {
  TestingDesk desk;
  desk.Start(1, 71, "train-a", 101, 160 * kMiB);
  desk.Say(1, wire::GateWanted{});
  ASSERT_TRUE(desk.SwapIn(1, 160 * kMiB));
  desk.Start(2, 72, "train-b", 102, 160 * kMiB);
  desk.Say(2, wire::GateWanted{});
  EXPECT_FALSE(desk.Take<wire::SwapIn>(2));
  desk.core.OnDeath(1);
  EXPECT_EQ(desk.core.clients(), 1u);
  ASSERT_TRUE(desk.SwapIn(2, 160 * kMiB));
  EXPECT_TRUE(desk.Take<wire::OpenGate>(2));
}

TEST(Core, WhoIsLostKeepsItsMemoryUntilItReturnsOrDies) {
  TestingDesk desk;
  desk.Start(1, 71, "train-a", 101, 160 * kMiB);
  desk.Say(1, wire::GateWanted{});
  ASSERT_TRUE(desk.SwapIn(1, 160 * kMiB));
  desk.core.OnLost(1);
  EXPECT_EQ(desk.core.clients(), 0u);
  EXPECT_EQ(desk.core.lone().size(), 1u);
  desk.Start(2, 72, "train-b", 102, 160 * kMiB);
  desk.Say(2, wire::GateWanted{});
  EXPECT_FALSE(desk.Take<wire::OpenGate>(2));
  desk.core.OnLoneDeath(101);
  EXPECT_EQ(desk.core.lone().size(), 0u);
  ASSERT_TRUE(desk.SwapIn(2, 160 * kMiB));
  EXPECT_TRUE(desk.Take<wire::OpenGate>(2));

  desk.core.OnLost(2);
  EXPECT_EQ(desk.core.lone().size(), 1u);
  desk.Hello(3, 72, "train-b", 102, wire::kHelloResuming, true);
  EXPECT_EQ(desk.core.lone().size(), 0u) << "it is back";
  EXPECT_EQ(desk.core.clients(), 1u);
}

// A program that ends closes its socket long before the driver has freed its memory.
TEST(Core, NobodyIsToldOutOfMemoryWhileAnotherEnds) {
  TestingDesk desk;
  desk.Start(1, 71, "train-a", 101, 160 * kMiB);
  desk.Say(1, wire::GateWanted{});
  ASSERT_TRUE(desk.SwapIn(1, 160 * kMiB));
  desk.Start(2, 72, "train-b", 102, 100 * kMiB);
  desk.core.OnLost(1);
  desk.Say(2, wire::GrowthWanted{7, 0, wire::GrowthKind::kSwappable, 0, 60 * kMiB});
  desk.Advance(seconds(5));
  EXPECT_FALSE(desk.Take<wire::GrowthAnswer>(2));
  desk.core.OnLoneDeath(101);
  const auto answer = desk.Take<wire::GrowthAnswer>(2);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->answer, wire::Growth::kLater);
}

TEST(Core, ASettingSaysWhatAContextTakes) {
  TestingDesk desk;
  Settings settings;
  settings.context_estimate = 4 * kMiB;
  Core core(settings, kGiB, desk.clock, nullptr, desk, MakeSilentLogger());
  wire::Hello hello{};
  hello.job = 71;
  core.OnHello(1, Peer{101, 0}, hello);
  wire::ContextWanted wanted{};
  wanted.total = 256 * kMiB;
  char packet[wire::kPacketSize<wire::ContextWanted>];
  wire::Encode(wanted, packet);
  ASSERT_TRUE(core.OnMessage(1, wire::Type::kContextWanted, packet));
  const auto admitted = desk.Take<wire::ContextAdmitted>(1);
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->credit, 4 * kMiB);
}

TEST(Core, OneProcessIsOneClient) {
  TestingDesk desk;
  desk.Hello(1, 71, "a", 101);
  desk.Hello(2, 71, "b", 101);
  EXPECT_FALSE(desk.core.HasClient(1)) << "the process began another program";
  EXPECT_TRUE(desk.core.HasClient(2));
}

TEST(Core, WhoDoesNotAnswerIsNotWaitedForForEver) {
  TestingDesk desk;
  desk.Start(1, 71, "stopped", 101, 160 * kMiB);
  desk.Say(1, wire::GateWanted{});
  ASSERT_TRUE(desk.SwapIn(1, 160 * kMiB));
  desk.Start(2, 72, "train-b", 102, 160 * kMiB);
  desk.Say(2, wire::GateWanted{});
  std::optional<wire::CloseGate> close;
  for (int i = 0; i < 60 && !close; ++i) {
    desk.Advance(seconds(1));
    close = desk.Take<wire::CloseGate>(1);
  }
  ASSERT_TRUE(close);
  desk.Advance(seconds(10));
  const auto status = nlohmann::json::parse(desk.core.StatusJson());
  EXPECT_EQ(status.at("clients").at(0).at("not_answering"), true);
  // It wakes up: its late answer must not leave its gate closed for ever.
  const std::uint32_t serial = close->serial;
  while (desk.Take<wire::OpenGate>(1)) {
  }
  desk.Say(1, wire::GateClosed{serial, 10, 20, 0});
  EXPECT_TRUE(desk.Take<wire::OpenGate>(1));
  const auto after = nlohmann::json::parse(desk.core.StatusJson());
  EXPECT_EQ(after.at("clients").at(0).at("not_answering"), false);
}

TEST(Core, AContextTakesWhatTheCardSaysThatItTakes) {
  platform::FakeGpuMonitor monitor;
  platform::GpuReading reading;
  reading.uuid[15] = 1;
  reading.processes = {{101, 20 * kMiB}};
  monitor.readings = {reading};
  TestingDesk desk(&monitor);
  desk.Hello(1, 71, "train-a", 101);
  wire::ContextWanted wanted{};
  wanted.uuid[15] = 1;
  wanted.total = 256 * kMiB;
  desk.Say(1, wanted);
  const auto admitted = desk.Take<wire::ContextAdmitted>(1);
  ASSERT_TRUE(admitted);
  desk.Say(1, wire::ContextMade{admitted->gpu, 0, 8 * kMiB});
  const auto status = nlohmann::json::parse(desk.core.StatusJson());
  EXPECT_EQ(status.at("clients").at(0).at("footprint").at("context"), 20 * kMiB);
}

TEST(Core, ProcessesOutsideLessenTheBudget) {
  platform::FakeGpuMonitor monitor;
  TestingDesk desk(&monitor);
  desk.Start(1, 71, "train-a", 101, 100 * kMiB);
  platform::GpuReading reading;
  reading.uuid[15] = 1;
  reading.name = "Test GPU";
  reading.processes = {{101, 8 * kMiB}, {999, 40 * kMiB}};
  monitor.readings = {reading};
  desk.Advance(seconds(1));
  desk.Advance(seconds(1));
  const auto status = nlohmann::json::parse(desk.core.StatusJson());
  const auto& gpu = status.at("gpus").at(0);
  EXPECT_EQ(gpu.at("name"), "Test GPU");
  EXPECT_EQ(gpu.at("external"), 40 * kMiB);
  EXPECT_EQ(gpu.at("outside").at(0).at("pid"), 999);
}

}  // namespace
}  // namespace reveza::daemon
