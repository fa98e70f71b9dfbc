#include "wire/messages.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "wire/codec.h"

namespace reveza::wire {
namespace {

// The layout is a promise to programs that are already running: a change here is a new kVersion.
TEST(Messages, LayoutOfVersionOne) {
  ASSERT_EQ(kVersion, 1);
  EXPECT_EQ(sizeof(Header), 8u);
  EXPECT_EQ(sizeof(Hello), 272u);
  EXPECT_EQ(sizeof(ContextWanted), 24u);
  EXPECT_EQ(sizeof(ContextMade), 16u);
  EXPECT_EQ(sizeof(GrowthWanted), 24u);
  EXPECT_EQ(sizeof(Account), 56u);
  EXPECT_EQ(sizeof(GateClosed), 16u);
  EXPECT_EQ(sizeof(DrainFailed), 16u);
  EXPECT_EQ(sizeof(Evicted), 32u);
  EXPECT_EQ(sizeof(SwappedIn), 16u);
  EXPECT_EQ(sizeof(Resumed), 64u);
  EXPECT_EQ(sizeof(Welcome), 16u);
  EXPECT_EQ(sizeof(Refused), 128u);
  EXPECT_EQ(sizeof(ContextAdmitted), 48u);
  EXPECT_EQ(sizeof(GrowthAnswer), 24u);
  EXPECT_EQ(sizeof(Evict), 16u);
  EXPECT_EQ(sizeof(Credit), 16u);
  EXPECT_EQ(sizeof(Why), 200u);
  EXPECT_EQ(offsetof(Account, resident), 16u);
  EXPECT_EQ(offsetof(Resumed, credit), 56u);
}

TEST(Messages, EmptyOnesAreAHeaderAlone) {
  EXPECT_EQ(kPacketSize<GateWanted>, sizeof(Header));
  EXPECT_EQ(kPacketSize<Idle>, sizeof(Header));
  EXPECT_EQ(kPacketSize<StatusRequest>, sizeof(Header));
}

}  // namespace
}  // namespace reveza::wire
