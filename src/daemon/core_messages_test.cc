// What a client may say, and when.
#include <gtest/gtest.h>

#include "daemon/testing_desk.h"

namespace reveza::daemon {
namespace {

TEST(CoreMessages, OfAGpuThatWasNotGivenAreRefused) {
  TestingDesk desk;
  desk.Hello(1, 71, "a", 101);
  EXPECT_FALSE(desk.Say(1, wire::ContextMade{0, 0, 1}));
  EXPECT_FALSE(desk.Say(1, wire::Account{}));
  EXPECT_FALSE(desk.Say(1, wire::GrowthWanted{1, 0, wire::GrowthKind::kSwappable, 0, kMiB}));
  EXPECT_FALSE(desk.Say(1, wire::Evicted{}));
  EXPECT_FALSE(desk.Say(1, wire::StatusRequest{})) << "a client does not ask";
  EXPECT_FALSE(desk.Say(9, wire::GateWanted{})) << "nobody we know";
  EXPECT_TRUE(desk.Say(1, wire::GateWanted{}));
  EXPECT_TRUE(desk.Say(1, wire::Idle{}));
  EXPECT_TRUE(desk.Say(1, wire::GateClosed{99, 0, 0, 0})) << "a stale answer is no nonsense";
}

TEST(CoreMessages, TheSeventeenthGpuIsRefused) {
  TestingDesk desk;
  desk.Hello(1, 71, "a", 101);
  wire::ContextWanted wanted{};
  wanted.total = 256 * kMiB;
  for (std::uint8_t i = 1; i <= wire::kMaxGpus; ++i) {
    wanted.uuid[0] = i;
    EXPECT_TRUE(desk.Say(1, wanted));
  }
  wanted.uuid[0] = 99;
  EXPECT_FALSE(desk.Say(1, wanted));
}

TEST(CoreMessages, ResumedTwiceForOneGpuIsRefused) {
  TestingDesk desk;
  desk.Hello(1, 71, "a", 101, wire::kHelloResuming, true);
  wire::Resumed resumed{};
  resumed.total = 256 * kMiB;
  resumed.resident = 64 * kMiB;
  resumed.credit = 64 * kMiB;
  EXPECT_TRUE(desk.Say(1, resumed));
  const auto admitted = desk.Take<wire::ContextAdmitted>(1);
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->credit, 0u);
  EXPECT_EQ(admitted->budget, 248 * kMiB / 32 * 31) << "less what others' contexts may take";
  EXPECT_FALSE(desk.Say(1, resumed));
}

}  // namespace
}  // namespace reveza::daemon
