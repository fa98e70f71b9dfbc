// Tests the translation of decisions into messages.
#include <gtest/gtest.h>

#include "reveza/gpu/daemon/testing_core.h"
#include "reveza/gpu/nvml/testing_fakes.h"

namespace reveza::daemon {
namespace core_orders_test {

using std::chrono::seconds;

TEST(CoreOrders, GrowthAnswerCarriesRequestNumber) {
  TestingCore harness;
  harness.Start(1, 71, "a", 101, 16 * kMiB);
  harness.Deliver(1, wire::GateRequested{});
  ASSERT_TRUE(harness.SwapIn(1, 16 * kMiB));
  ASSERT_TRUE(harness.Take<wire::OpenGate>(1));
  harness.Deliver(1, wire::GrowthRequested{41, 0, wire::GrowthKind::kSwappable, 0, 32 * kMiB});
  const auto granted = harness.Take<wire::GrowthAnswer>(1);
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->request, 41u);
  EXPECT_EQ(granted->answer, wire::Growth::kGranted);
  EXPECT_EQ(granted->credit, 32 * kMiB);
  harness.Deliver(1, wire::GrowthRequested{42, 0, wire::GrowthKind::kPinned, 0, 300 * kMiB});
  const auto refused = harness.Take<wire::GrowthAnswer>(1);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->request, 42u);
  EXPECT_EQ(refused->answer, wire::Growth::kRefused) << "exceeds the GPU";
  EXPECT_EQ(refused->credit, 0u);
}

TEST(CoreOrders, ContextAdmittedDescribesGpu) {
  TestingCore harness;
  harness.Hello(1, 71, "a", 101);
  wire::ContextRequested message{};
  message.uuid[3] = 9;
  message.total = 256 * kMiB;
  ASSERT_TRUE(harness.Deliver(1, message));
  const auto admitted = harness.Take<wire::ContextAdmitted>(1);
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->uuid[3], 9);
  EXPECT_EQ(admitted->gpu, 0u);
  EXPECT_EQ(admitted->budget, 248 * kMiB / 32 * 31) << "less the reserve for contexts of others";
  EXPECT_EQ(admitted->granule, 4 * kMiB);
  EXPECT_GT(admitted->credit, 0u);
}

TEST(CoreOrders, WaitReasonIsSentOnceAndCleared) {
  TestingCore harness;
  harness.Start(1, 71, "train-a", 101, 160 * kMiB);
  harness.Deliver(1, wire::GateRequested{});
  ASSERT_TRUE(harness.SwapIn(1, 160 * kMiB));
  harness.Start(2, 72, "train-b", 102, 160 * kMiB);
  harness.Deliver(2, wire::GateRequested{});
  std::string last;
  while (const auto why = harness.Take<wire::WaitMessage>(2)) last = why->text;
  EXPECT_TRUE(last.starts_with("waiting")) << last;
  harness.core.Tick();
  harness.core.Tick();
  EXPECT_FALSE(harness.Take<wire::WaitMessage>(2)) << "reason unchanged";
  harness.core.OnDeath(1);
  harness.SwapIn(2, 160 * kMiB);
  while (const auto why = harness.Take<wire::WaitMessage>(2)) last = why->text;
  EXPECT_FALSE(last.starts_with("waiting")) << last;
}

// Contexts of clients that a daemon before this one has sent off the card.
class RestoreTest : public ::testing::Test {
 protected:
  RestoreTest() : harness_(&monitor_) {
    monitor_.readings = {
        {.uuid = Card(), .name = "", .total = 256 * kMiB, .used = 0, .processes = {}}};
  }
  static nvml::Uuid Card() {
    nvml::Uuid uuid{};
    uuid[15] = 1;
    return uuid;
  }
  void Adopt(ClientId client, pid_t pid) {
    harness_.Hello(client, 70 + client, "a", pid,
                   wire::kHelloResuming | wire::kHelloMovableContexts);
    EXPECT_TRUE(
        harness_.Deliver(client, wire::ContextsReleased{0, wire::ContextRelease::kReleased}));
    wire::Resumed resumed{};
    resumed.uuid[15] = 1;
    resumed.total = 256 * kMiB;
    resumed.context = 80 * kMiB;
    EXPECT_TRUE(harness_.Deliver(client, resumed));
    EXPECT_TRUE(harness_.Deliver(client, wire::GateRequested{}));
  }
  void SetUsed(Bytes bytes) { monitor_.readings.front().used = bytes; }

  nvml::FakeGpuMonitor monitor_;
  TestingCore harness_;
};

TEST_F(RestoreTest, WaitsForRoomOnTheCard) {
  Adopt(1, 101);
  SetUsed(177 * kMiB);
  harness_.Advance(seconds(20));
  harness_.Read();
  EXPECT_FALSE(harness_.Take<wire::RestoreContexts>(1));
  SetUsed(176 * kMiB);
  harness_.Read();
  const auto order = harness_.Take<wire::RestoreContexts>(1);
  ASSERT_TRUE(order);
  EXPECT_TRUE(harness_.Deliver(1, wire::ContextsRestored{order->serial, 0}));
  EXPECT_TRUE(harness_.Take<wire::OpenGate>(1));
}

TEST_F(RestoreTest, RoomForOneIsGivenToOne) {
  Adopt(1, 101);
  Adopt(2, 102);
  SetUsed(100 * kMiB);
  harness_.Advance(seconds(20));
  harness_.Read();
  ASSERT_TRUE(harness_.Take<wire::RestoreContexts>(1));
  EXPECT_FALSE(harness_.Take<wire::RestoreContexts>(2));
  harness_.Read();
  EXPECT_FALSE(harness_.Take<wire::RestoreContexts>(2)) << "the first may not be on the card yet";
  SetUsed(90 * kMiB);
  harness_.Read();
  EXPECT_TRUE(harness_.Take<wire::RestoreContexts>(2));
}

TEST_F(RestoreTest, WithoutReadingsThereIsNothingToWaitFor) {
  monitor_.readings.clear();
  Adopt(1, 101);
  harness_.Advance(seconds(20));
  EXPECT_TRUE(harness_.Take<wire::RestoreContexts>(1));
}

}  // namespace core_orders_test
}  // namespace reveza::daemon
