// Tests the translation of decisions into messages.
#include <gtest/gtest.h>

#include "reveza/gpu/daemon/testing_core.h"

namespace reveza::daemon {
namespace core_orders_test {

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

}  // namespace core_orders_test
}  // namespace reveza::daemon
