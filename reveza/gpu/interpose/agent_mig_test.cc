// MIG instances of one card are GPUs of their own, on fakecuda.
#include <gtest/gtest.h>

#include <cstring>

#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace agent_mig_test {

class AgentMigTest : public DifferentialTest {};

TEST_F(AgentMigTest, InstancesAreAnnouncedAsSeparateGpus) {
  const auto first = daemon().Await<wire::ContextRequested>();
  CUcontext context = nullptr;
  ASSERT_EQ(Through().cuDevicePrimaryCtxRetain(&context, 1), CUDA_SUCCESS);
  const auto second = daemon().Await<wire::ContextRequested>();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->total, 96 * kMiB);
  EXPECT_EQ(second->total, 160 * kMiB);
  EXPECT_NE(std::memcmp(first->uuid, second->uuid, sizeof(first->uuid)), 0);
  EXPECT_EQ(Through().cuDevicePrimaryCtxRelease_v2(1), CUDA_SUCCESS);
}

TEST_F(AgentMigTest, OldDriversKnowOnlyTheCard) {
  DriverCalls old = Direct();
  CUuuid card{};
  ASSERT_EQ(old.cuDeviceGetUuid(&card, 1), CUDA_SUCCESS);
  old.cuDeviceGetUuid_v2 = nullptr;
  const CUuuid uuid = DeviceUuid(old, 1);
  EXPECT_EQ(std::memcmp(uuid.bytes, card.bytes, sizeof(card.bytes)), 0);
}

}  // namespace agent_mig_test
}  // namespace reveza::interpose::testing
