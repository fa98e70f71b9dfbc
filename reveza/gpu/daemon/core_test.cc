#include "reveza/gpu/daemon/core.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reveza/gpu/daemon/testing_core.h"
#include "reveza/gpu/nvml/testing_fakes.h"

namespace reveza::daemon {
namespace core_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Core, NonFittingClientsTakeTurns) {
  TestingCore harness;
  harness.Start(1, 71, "train-a", 101, 160 * kMiB);
  harness.Deliver(1, wire::GateRequested{});
  ASSERT_TRUE(harness.SwapIn(1, 160 * kMiB));
  ASSERT_TRUE(harness.Take<wire::OpenGate>(1));

  harness.Start(2, 72, "train-b", 102, 160 * kMiB);
  harness.Deliver(2, wire::GateRequested{});
  const auto why = harness.Take<wire::WaitMessage>(2);
  ASSERT_TRUE(why);
  EXPECT_NE(std::string(why->text).find("train-a (pid 101)"), std::string::npos) << why->text;
  EXPECT_TRUE(harness.Take<wire::Contention>(1));

  std::optional<wire::CloseGate> close;
  for (int i = 0; i < 60 && !close; ++i) {
    harness.Advance(seconds(1));
    close = harness.Take<wire::CloseGate>(1);
  }
  ASSERT_TRUE(close);
  harness.Deliver(1, wire::GateClosed{close->serial, 10, 20, 0});
  const auto evict = harness.Take<wire::Evict>(1);
  ASSERT_TRUE(evict);
  EXPECT_GE(evict->bytes, 88 * kMiB) << "the shortage";
  harness.ReportAccount(1, 0, 160 * kMiB, 160 * kMiB);
  harness.Deliver(1, wire::Unchanged{evict->serial, 0, 40 * kMiB});
  harness.Deliver(1, wire::Unchanged{evict->serial + 1, 0, 50 * kMiB});  // of another order
  harness.Deliver(
      1, wire::Evicted{evict->serial, 0, 160 * kMiB, 120 * kMiB, 3000, wire::EvictFailure::kNone});
  harness.clock.Advance(milliseconds(5));
  ASSERT_TRUE(harness.SwapIn(2, 160 * kMiB));
  ASSERT_TRUE(harness.Take<wire::OpenGate>(2));

  const auto status = nlohmann::json::parse(harness.core.StatusJson());
  const auto& handover = status.at("gpus").at(0).at("handover");
  EXPECT_EQ(handover.at("count"), 1);
  EXPECT_EQ(handover.at("mean_ms"), 5.0);
  EXPECT_EQ(handover.at("out_ms"), 3.0);
  EXPECT_EQ(handover.at("bytes_out"), 120 * kMiB);
  EXPECT_EQ(handover.at("bytes_unchanged"), 40 * kMiB);
  EXPECT_EQ(status.at("clients").at(0).at("unchanged"), 40 * kMiB);
  const auto trace = harness.core.TraceJson();
  for (const char* part :
       {"slice", "drain", "copy out", "copy in", "wait for its turn", "\"unchanged\":41943040"}) {
    EXPECT_NE(trace.find(part), std::string::npos) << part;
  }
}

TEST(Core, DeathAdmitsNextClient) {
  TestingCore harness;
  harness.Start(1, 71, "train-a", 101, 160 * kMiB);
  harness.Deliver(1, wire::GateRequested{});
  ASSERT_TRUE(harness.SwapIn(1, 160 * kMiB));
  harness.Start(2, 72, "train-b", 102, 160 * kMiB);
  harness.Deliver(2, wire::GateRequested{});
  EXPECT_FALSE(harness.Take<wire::SwapIn>(2));
  harness.core.OnDeath(1);
  EXPECT_EQ(harness.core.clients(), 1u);
  ASSERT_TRUE(harness.SwapIn(2, 160 * kMiB));
  EXPECT_TRUE(harness.Take<wire::OpenGate>(2));
}

TEST(Core, DisconnectedClientKeepsMemoryUntilItReturnsOrDies) {
  TestingCore harness;
  harness.Start(1, 71, "train-a", 101, 160 * kMiB);
  harness.Deliver(1, wire::GateRequested{});
  ASSERT_TRUE(harness.SwapIn(1, 160 * kMiB));
  harness.core.OnDisconnected(1);
  EXPECT_EQ(harness.core.clients(), 0u);
  EXPECT_EQ(harness.core.detached().size(), 1u);
  harness.Start(2, 72, "train-b", 102, 160 * kMiB);
  harness.Deliver(2, wire::GateRequested{});
  EXPECT_FALSE(harness.Take<wire::OpenGate>(2));
  harness.core.OnDetachedDeath(101);
  EXPECT_EQ(harness.core.detached().size(), 0u);
  ASSERT_TRUE(harness.SwapIn(2, 160 * kMiB));
  EXPECT_TRUE(harness.Take<wire::OpenGate>(2));

  harness.core.OnDisconnected(2);
  EXPECT_EQ(harness.core.detached().size(), 1u);
  harness.Hello(3, 72, "train-b", 102, wire::kHelloResuming, true);
  EXPECT_EQ(harness.core.detached().size(), 0u) << "reconnected";
  EXPECT_EQ(harness.core.clients(), 1u);
}

// An exiting process closes its socket long before the driver frees its memory.
TEST(Core, NoOutOfMemoryWhileAnotherProcessExits) {
  TestingCore harness;
  harness.Start(1, 71, "train-a", 101, 160 * kMiB);
  harness.Deliver(1, wire::GateRequested{});
  ASSERT_TRUE(harness.SwapIn(1, 160 * kMiB));
  harness.Start(2, 72, "train-b", 102, 100 * kMiB);
  harness.core.OnDisconnected(1);
  harness.Deliver(2, wire::GrowthRequested{7, 0, wire::GrowthKind::kSwappable, 0, 60 * kMiB});
  harness.Advance(seconds(5));
  EXPECT_FALSE(harness.Take<wire::GrowthAnswer>(2));
  harness.core.OnDetachedDeath(101);
  const auto answer = harness.Take<wire::GrowthAnswer>(2);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->answer, wire::Growth::kLater);
}

TEST(Core, ContextEstimateSettingIsUsed) {
  TestingCore harness;
  Settings settings;
  settings.context_estimate = 4 * kMiB;
  Core core(settings, kGiB, harness.clock, nullptr, harness, MakeNullLogger());
  wire::Hello hello{};
  hello.job = 71;
  core.OnHello(1, Peer{.pid = 101}, hello);
  wire::ContextRequested message{};
  message.total = 256 * kMiB;
  char packet[wire::kPacketSize<wire::ContextRequested>];
  wire::Encode(message, packet);
  ASSERT_TRUE(core.OnMessage(1, wire::Type::kContextRequested, packet, sizeof(packet)));
  const auto admitted = harness.Take<wire::ContextAdmitted>(1);
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->credit, 4 * kMiB);
}

TEST(Core, ReconnectReplacesClientOfSamePid) {
  TestingCore harness;
  harness.Hello(1, 71, "a", 101);
  harness.Hello(2, 71, "b", 101);
  EXPECT_FALSE(harness.core.HasClient(1)) << "same pid: the process has called exec()";
  EXPECT_TRUE(harness.core.HasClient(2));
}

TEST(Core, UnansweredCloseGateTimesOut) {
  TestingCore harness;
  harness.Start(1, 71, "stopped", 101, 160 * kMiB);
  harness.Deliver(1, wire::GateRequested{});
  ASSERT_TRUE(harness.SwapIn(1, 160 * kMiB));
  harness.Start(2, 72, "train-b", 102, 160 * kMiB);
  harness.Deliver(2, wire::GateRequested{});
  std::optional<wire::CloseGate> close;
  for (int i = 0; i < 60 && !close; ++i) {
    harness.Advance(seconds(1));
    close = harness.Take<wire::CloseGate>(1);
  }
  ASSERT_TRUE(close);
  harness.Advance(seconds(10));
  const auto status = nlohmann::json::parse(harness.core.StatusJson());
  EXPECT_EQ(status.at("clients").at(0).at("unresponsive"), true);
  // The client wakes up: its late answer must not leave its gate closed for ever.
  const std::uint32_t serial = close->serial;
  while (harness.Take<wire::OpenGate>(1)) {
  }
  harness.Deliver(1, wire::GateClosed{serial, 10, 20, 0});
  EXPECT_TRUE(harness.Take<wire::OpenGate>(1));
  const auto after = nlohmann::json::parse(harness.core.StatusJson());
  EXPECT_EQ(after.at("clients").at(0).at("unresponsive"), false);
}

TEST(Core, ContextSizeIsMeasured) {
  nvml::FakeGpuMonitor monitor;
  nvml::GpuReading reading;
  reading.uuid[15] = 1;
  reading.processes = {{101, 20 * kMiB}};
  monitor.readings = {reading};
  TestingCore harness(&monitor);
  harness.Hello(1, 71, "train-a", 101);
  wire::ContextRequested message{};
  message.uuid[15] = 1;
  message.total = 256 * kMiB;
  harness.Deliver(1, message);
  const auto admitted = harness.Take<wire::ContextAdmitted>(1);
  ASSERT_TRUE(admitted);
  harness.Deliver(1, wire::ContextCreated{admitted->gpu, 0, 8 * kMiB});
  const auto status = nlohmann::json::parse(harness.core.StatusJson());
  EXPECT_EQ(status.at("clients").at(0).at("footprint").at("context"), 20 * kMiB);
}

// A client on two GPUs that do not answer at once.
class SlowReadingTest : public ::testing::Test {
 protected:
  SlowReadingTest() {
    monitor_.readings.resize(2);
    for (std::uint8_t i = 0; i < 2; ++i) monitor_.readings[i].uuid[15] = i;
    monitor_.readings[0].processes = {{101, 20 * kMiB}};
    monitor_.readings[1].processes = {{101, 30 * kMiB}};
    harness_.reads_slowly = true;
    harness_.Hello(1, 71, "train-a", 101);
    for (std::uint8_t i = 0; i < 2; ++i) {
      wire::ContextRequested message{};
      message.uuid[15] = i;
      message.total = 256 * kMiB;
      harness_.Deliver(1, message);
      EXPECT_TRUE(harness_.Take<wire::ContextAdmitted>(1));
    }
  }

  Bytes Context() const {
    const auto status = nlohmann::json::parse(harness_.core.StatusJson());
    return status.at("clients").at(0).at("footprint").at("context");
  }

  nvml::FakeGpuMonitor monitor_;
  TestingCore harness_{&monitor_};
};

TEST_F(SlowReadingTest, MessagesAfterAContextWaitUntilItIsMeasured) {
  EXPECT_TRUE(harness_.Deliver(1, wire::ContextCreated{0, 0, 8 * kMiB}));
  EXPECT_TRUE(
      harness_.Deliver(1, wire::GrowthRequested{1, 0, wire::GrowthKind::kSwappable, 0, 64 * kMiB}));
  EXPECT_TRUE(harness_.Deliver(1, wire::ContextCreated{1, 0, 8 * kMiB}));
  EXPECT_TRUE(harness_.Deliver(1, wire::GateRequested{}));
  EXPECT_FALSE(harness_.Take<wire::GrowthAnswer>(1));
  harness_.Read();
  EXPECT_TRUE(harness_.Take<wire::GrowthAnswer>(1));
  EXPECT_FALSE(harness_.Take<wire::OpenGate>(1)) << "the second is read from now on";
  harness_.Read();
  EXPECT_EQ(Context(), 50 * kMiB);
  EXPECT_TRUE(harness_.Take<wire::OpenGate>(1));
}

// Of a process that is listed before its context, or that has ended.
TEST_F(SlowReadingTest, ReadingsOfEarlierRequestsMeasureNothing) {
  harness_.RequestReadings();
  EXPECT_TRUE(harness_.Deliver(1, wire::ContextCreated{0, 0, 8 * kMiB}));
  harness_.core.OnReadings({1, monitor_.readings});
  EXPECT_EQ(Context(), 0u);
  harness_.Read();
  EXPECT_EQ(Context(), 20 * kMiB);
}

TEST_F(SlowReadingTest, WithoutAnAnswerTheClientsOwnReportCounts) {
  EXPECT_TRUE(harness_.Deliver(1, wire::ContextCreated{0, 0, 8 * kMiB}));
  harness_.Advance(seconds(2));
  EXPECT_EQ(Context(), 8 * kMiB);
  harness_.Read();
  EXPECT_EQ(Context(), 8 * kMiB);
}

TEST_F(SlowReadingTest, AViolationMeanwhileEndsTheConnection) {
  EXPECT_TRUE(harness_.Deliver(1, wire::ContextCreated{0, 0, 8 * kMiB}));
  EXPECT_TRUE(harness_.Deliver(1, wire::Account{7, 0, 0, 0, 0, 0, 0, 0}));  // no such GPU
  harness_.Read();
  EXPECT_FALSE(harness_.Deliver(1, wire::GateRequested{}));
}

TEST_F(SlowReadingTest, AClientMayEndMeanwhile) {
  EXPECT_TRUE(harness_.Deliver(1, wire::ContextCreated{0, 0, 8 * kMiB}));
  harness_.core.OnDeath(1);
  harness_.Read();
  EXPECT_EQ(harness_.core.clients(), 0u);
}

// A process that has ended is listed for a moment: only polls count.
TEST_F(SlowReadingTest, MeasurementsAreNoPolls) {
  monitor_.readings[0].processes = {{101, 20 * kMiB}, {999, 40 * kMiB}};
  harness_.Advance(seconds(1));
  harness_.Read();
  EXPECT_TRUE(harness_.Deliver(1, wire::ContextCreated{0, 0, 8 * kMiB}));
  harness_.Read();
  const auto external = [&] {
    return nlohmann::json::parse(harness_.core.StatusJson()).at("gpus").at(0).at("external");
  };
  EXPECT_EQ(external(), 0u);
  harness_.Advance(seconds(1));
  harness_.Read();
  EXPECT_EQ(external(), 40 * kMiB);
}

TEST(Core, ExternalProcessesReduceBudget) {
  nvml::FakeGpuMonitor monitor;
  TestingCore harness(&monitor);
  harness.Start(1, 71, "train-a", 101, 100 * kMiB);
  nvml::GpuReading reading;
  reading.uuid[15] = 1;
  reading.name = "Test GPU";
  reading.processes = {{101, 8 * kMiB}, {999, 40 * kMiB}};
  monitor.readings = {reading};
  harness.Advance(seconds(1));
  harness.Advance(seconds(1));
  const auto status = nlohmann::json::parse(harness.core.StatusJson());
  const auto& gpu = status.at("gpus").at(0);
  EXPECT_EQ(gpu.at("name"), "Test GPU");
  EXPECT_EQ(gpu.at("external"), 40 * kMiB);
  EXPECT_EQ(gpu.at("outside").at(0).at("pid"), 999);
}

}  // namespace core_test
}  // namespace reveza::daemon
