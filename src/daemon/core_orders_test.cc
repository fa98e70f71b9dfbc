// Decisions as messages.
#include <gtest/gtest.h>

#include "daemon/testing_desk.h"

namespace reveza::daemon {
namespace {

TEST(CoreOrders, GrowthIsAnsweredWithItsNumber) {
  TestingDesk desk;
  desk.Start(1, 71, "a", 101, 16 * kMiB);
  desk.Say(1, wire::GateWanted{});
  ASSERT_TRUE(desk.SwapIn(1, 16 * kMiB));
  ASSERT_TRUE(desk.Take<wire::OpenGate>(1));
  desk.Say(1, wire::GrowthWanted{41, 0, wire::GrowthKind::kSwappable, 0, 32 * kMiB});
  const auto granted = desk.Take<wire::GrowthAnswer>(1);
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->request, 41u);
  EXPECT_EQ(granted->answer, wire::Growth::kGranted);
  EXPECT_EQ(granted->credit, 32 * kMiB);
  desk.Say(1, wire::GrowthWanted{42, 0, wire::GrowthKind::kPinned, 0, 300 * kMiB});
  const auto refused = desk.Take<wire::GrowthAnswer>(1);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->request, 42u);
  EXPECT_EQ(refused->answer, wire::Growth::kRefused) << "more than the card";
  EXPECT_EQ(refused->credit, 0u);
}

TEST(CoreOrders, AnAdmittedContextSaysWhatTheCardIs) {
  TestingDesk desk;
  desk.Hello(1, 71, "a", 101);
  wire::ContextWanted wanted{};
  wanted.uuid[3] = 9;
  wanted.total = 256 * kMiB;
  ASSERT_TRUE(desk.Say(1, wanted));
  const auto admitted = desk.Take<wire::ContextAdmitted>(1);
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->uuid[3], 9);
  EXPECT_EQ(admitted->gpu, 0u);
  EXPECT_EQ(admitted->budget, 248 * kMiB / 32 * 31) << "less what others' contexts may take";
  EXPECT_EQ(admitted->granule, 4 * kMiB);
  EXPECT_GT(admitted->credit, 0u);
}

TEST(CoreOrders, WhyIsSaidOnceAndTakenBack) {
  TestingDesk desk;
  desk.Start(1, 71, "train-a", 101, 160 * kMiB);
  desk.Say(1, wire::GateWanted{});
  ASSERT_TRUE(desk.SwapIn(1, 160 * kMiB));
  desk.Start(2, 72, "train-b", 102, 160 * kMiB);
  desk.Say(2, wire::GateWanted{});
  std::string last;
  while (const auto why = desk.Take<wire::Why>(2)) last = why->text;
  EXPECT_TRUE(last.starts_with("waiting")) << last;
  desk.core.Tick();
  desk.core.Tick();
  EXPECT_FALSE(desk.Take<wire::Why>(2)) << "nothing new";
  desk.core.OnDeath(1);
  desk.SwapIn(2, 160 * kMiB);
  while (const auto why = desk.Take<wire::Why>(2)) last = why->text;
  EXPECT_FALSE(last.starts_with("waiting")) << last;
}

}  // namespace
}  // namespace reveza::daemon
