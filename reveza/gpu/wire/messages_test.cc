#include "reveza/gpu/wire/messages.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "reveza/gpu/wire/codec.h"

namespace reveza::wire {
namespace messages_test {

// Running clients depend on the layout: a change here requires a new kVersion.
TEST(Messages, LayoutOfEachVersionIsStable) {
  ASSERT_EQ(kVersion, 4);
  EXPECT_EQ(sizeof(HostBacked), 48u);
  EXPECT_EQ(sizeof(Hold), 8u);
  EXPECT_EQ(sizeof(ContextsReleased), 8u);
  EXPECT_EQ(sizeof(ContextsRestored), 8u);
  EXPECT_EQ(sizeof(ReleaseContexts), 8u);
  EXPECT_EQ(sizeof(RestoreContexts), 8u);
  EXPECT_EQ(sizeof(Policy), 40u);
  EXPECT_EQ(sizeof(ContextRefused), 216u);
  EXPECT_EQ(sizeof(QueueBound), 8u);
  EXPECT_EQ(sizeof(JobRequest), 104u);
  EXPECT_EQ(sizeof(MpsRequest), 16u);
  EXPECT_EQ(sizeof(EventsRequest), 8u);
  EXPECT_EQ(sizeof(Header), 8u);
  EXPECT_EQ(sizeof(Hello), 272u);
  EXPECT_EQ(sizeof(ContextRequested), 24u);
  EXPECT_EQ(sizeof(ContextCreated), 16u);
  EXPECT_EQ(sizeof(GrowthRequested), 24u);
  EXPECT_EQ(sizeof(Account), 56u);
  EXPECT_EQ(sizeof(GateClosed), 16u);
  EXPECT_EQ(sizeof(DrainFailed), 16u);
  EXPECT_EQ(sizeof(Draining), 8u);
  EXPECT_EQ(sizeof(CloseGate), 16u);
  EXPECT_EQ(sizeof(Evicted), 32u);
  EXPECT_EQ(sizeof(SwappedIn), 16u);
  EXPECT_EQ(sizeof(Resumed), 64u);
  EXPECT_EQ(sizeof(Welcome), 16u);
  EXPECT_EQ(sizeof(Refused), 128u);
  EXPECT_EQ(sizeof(ContextAdmitted), 48u);
  EXPECT_EQ(sizeof(GrowthAnswer), 24u);
  EXPECT_EQ(sizeof(Evict), 16u);
  EXPECT_EQ(sizeof(Credit), 16u);
  EXPECT_EQ(sizeof(WaitMessage), 200u);
  EXPECT_EQ(offsetof(Account, resident), 16u);
  EXPECT_EQ(offsetof(Resumed, credit), 56u);
}

TEST(Messages, EmptyMessagesAreAHeaderOnly) {
  EXPECT_EQ(kPacketSize<GateRequested>, sizeof(Header));
  EXPECT_EQ(kPacketSize<Idle>, sizeof(Header));
  EXPECT_EQ(kPacketSize<StatusRequest>, sizeof(Header));
}

}  // namespace messages_test
}  // namespace reveza::wire
