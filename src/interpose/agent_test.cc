// How the agent obeys: a daemon by script orders, on fakecuda.
#include "interpose/agent.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
  Spin(2000);
  EXPECT_EQ(Direct().cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  EXPECT_FALSE(daemon().CloseGate());
  EXPECT_EQ(Direct().cuStreamQuery(stream_), CUDA_SUCCESS);
}

TEST_F(AgentTest, AQueueThatDoesNotDrainInTimeOpensTheGateAgain) {
  Spin(6000);
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

// While somebody waits, a thread that submits without ever waiting is never far ahead: of 2 s of
// work the first is done when the last is submitted.
TEST_F(AgentTest, WhileOthersWaitNobodyRunsFarAhead) {
  daemon().Send(wire::Contention{1, 60'000'000});
  while (gate_internal::state.load() != gate_internal::kBounded) usleep(1000);
  CUevent half = nullptr;
  ASSERT_EQ(Through().cuEventCreate(&half, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  for (int i = 0; i < 400; ++i) {
    Spin(5);
    if (i == 199) {
      ASSERT_EQ(Through().cuEventRecord(half, stream_), CUDA_SUCCESS);
    }
  }
  EXPECT_EQ(Direct().cuEventQuery(half), CUDA_SUCCESS);
  daemon().Send(wire::Contention{0, 0});
  EXPECT_EQ(Direct().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuEventDestroy_v2(half), CUDA_SUCCESS);
}

// The child has no agent that could open the gate: the driver answers at once.
TEST_F(AgentTest, TheChildOfAForkIsNoClient) {
  daemon().LetIn(false);
  EXPECT_FALSE(daemon().CloseGate());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // ends a child that waits
    const CUresult result = Through().cuMemsetD8_v2(0x1000, 0, 1);
    _exit(result != CUDA_SUCCESS && Client::Get() == nullptr ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  daemon().LetIn(true);
}

// The last: what was called cannot be taken back.
TEST_F(AgentTest, WhoStaysResidentIsNotMoved) {
  const CUdeviceptr memory = [] {
    CUdeviceptr address = 0;
    EXPECT_EQ(Through().cuMemAlloc_v2(&address, 8 * kMiB), CUDA_SUCCESS);
    return address;
  }();
  EXPECT_TRUE(
      daemon().AwaitBooks([](const wire::Account& books) { return books.resident == 8 * kMiB; }));
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
