// How the agent obeys: a daemon by script orders, on fakecuda.
#include "interpose/agent.h"

#include <gtest/gtest.h>

#include "interpose/gate.h"
#include "interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace {

class AgentTest : public DifferentialTest {
 protected:
  void SetUp() override {
    DifferentialTest::SetUp();
    ASSERT_EQ(Through().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(Through().cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
    DifferentialTest::TearDown();
  }

  // A kernel that runs for so long.
  void Spin(unsigned long long milliseconds) {
    CUmodule module = nullptr;
    CUfunction spin = nullptr;
    ASSERT_EQ(Through().cuModuleLoadData(&module, "image"), CUDA_SUCCESS);
    ASSERT_EQ(Through().cuModuleGetFunction(&spin, module, "reveza_spin"), CUDA_SUCCESS);
    unsigned long long nanoseconds = milliseconds * 1'000'000;
    void* arguments[] = {&nanoseconds};
    ASSERT_EQ(Through().cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr),
              CUDA_SUCCESS);
  }

  CUstream stream_ = nullptr;
};

TEST_F(AgentTest, TheGateCountsAsClosedWhenTheGpuHasDoneAll) {
  Spin(500);
  EXPECT_EQ(Direct().cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  EXPECT_FALSE(daemon().CloseGate());
  EXPECT_EQ(Direct().cuStreamQuery(stream_), CUDA_SUCCESS);
}

TEST_F(AgentTest, AQueueThatDoesNotDrainInTimeOpensTheGateAgain) {
  Spin(3000);
  EXPECT_EQ(daemon().CloseGate(200'000), wire::DrainFailure::kLimit);
  EXPECT_FALSE(Gate::IsClosed());
  EXPECT_EQ(Direct().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_FALSE(daemon().CloseGate());
}

TEST_F(AgentTest, WhoHasNothingToDoWhileOthersWaitSaysSo) {
  daemon().Send(wire::Contention{1, 20'000});
  EXPECT_TRUE(daemon().Await<wire::Idle>());
  daemon().Send(wire::Contention{0, 0});
}

// The last: what was called cannot be taken back.
TEST_F(AgentTest, WhoStaysResidentIsNotMoved) {
  const CUdeviceptr memory = [] {
    CUdeviceptr address = 0;
    EXPECT_EQ(Through().cuMemAlloc_v2(&address, 8 * kMiB), CUDA_SUCCESS);
    return address;
  }();
  OnUnknownCall("cuFutureCall");
  EXPECT_TRUE(daemon().AwaitBooks(
      [](const wire::Account& books) { return books.pinned == 8 * kMiB && books.resident == 0; }));
  EXPECT_FALSE(daemon().CloseGate());
  const wire::Evicted evicted = daemon().Evict();
  EXPECT_EQ(evicted.failure, wire::EvictFailure::kDriver);
  EXPECT_EQ(evicted.freed, 0u);
  EXPECT_EQ(books().resident, 8 * kMiB);
  EXPECT_EQ(Through().cuMemFree_v2(memory), CUDA_SUCCESS);
}

}  // namespace
}  // namespace reveza::interpose::testing
