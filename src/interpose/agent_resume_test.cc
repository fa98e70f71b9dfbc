// A daemon that goes and is there again, on fakecuda: what the next one is told must be so.
#include <gtest/gtest.h>

#include <thread>

#include "interpose/agent.h"
#include "interpose/gate.h"
#include "interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace {

class AgentResumeTest : public DifferentialTest {
 protected:
  // The first case makes the context itself.
  void SetUp() override {
    daemon().LetIn(true);
    daemon().AnswerGrowth(wire::Growth::kGranted);
    ASSERT_EQ(Through().cuInit(0), CUDA_SUCCESS);
  }

  CUresult MakeContext() {
    if (const CUresult made = Through().cuDevicePrimaryCtxRetain(&context_, 0);
        made != CUDA_SUCCESS) {
      return made;
    }
    return Through().cuCtxSetCurrent(context_);
  }

  // Passes the gate, as submissions do.
  void AllocateAndClear() {
    CUdeviceptr address = 0;
    ASSERT_EQ(Through().cuMemAlloc_v2(&address, 8 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(Through().cuMemsetD8_v2(address, 1, 8 * kMiB), CUDA_SUCCESS);
    EXPECT_EQ(Through().cuMemFree_v2(address), CUDA_SUCCESS);
  }
};

// The context does not exist yet: the next daemon must not take it, and an open gate, over.
TEST_F(AgentResumeTest, AContextThatWasOnlyAskedForIsAskedForAnew) {
  daemon().HoldContexts(true);
  CUresult made = CUDA_ERROR_UNKNOWN;
  std::thread program([&] { made = MakeContext(); });
  ASSERT_TRUE(daemon().Await<wire::ContextWanted>());
  ASSERT_TRUE(daemon().Await<wire::Hello>());
  daemon().HoldContexts(false);
  daemon().HangUp();
  const auto hello = daemon().Await<wire::Hello>();
  program.join();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->flags & wire::kHelloResuming, 0u);
  EXPECT_FALSE(daemon().Has<wire::Resumed>());
  ASSERT_EQ(made, CUDA_SUCCESS);
  EXPECT_TRUE(Gate::IsClosed());
  ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(books().context, 2 * kMiB);
  AllocateAndClear();
  EXPECT_TRUE(daemon().Await<wire::GateWanted>());
}

// Of a gate that the daemon was told is open only the daemon says when it closes.
TEST_F(AgentResumeTest, AnOpenGateStaysOpenWhereThereIsNoContextAnyMore) {
  ASSERT_EQ(MakeContext(), CUDA_SUCCESS);
  AllocateAndClear();
  EXPECT_EQ(Through().cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  while (Through().cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS) {
  }
  daemon().Forget<wire::Hello>();
  daemon().Forget<wire::GateWanted>();
  daemon().HangUp();
  const auto hello = daemon().Await<wire::Hello>();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->gate_open, 1u);
  ASSERT_TRUE(daemon().Await<wire::Resumed>());
  // Only whose gate is open can be idle.
  daemon().Send(wire::Contention{1, 1'000});
  EXPECT_TRUE(daemon().Await<wire::Idle>());
  daemon().Send(wire::Contention{0, 0});
  ASSERT_EQ(MakeContext(), CUDA_SUCCESS);
  AllocateAndClear();
  EXPECT_FALSE(Gate::IsClosed());
  EXPECT_FALSE(daemon().Has<wire::GateWanted>());
}

}  // namespace
}  // namespace reveza::interpose::testing
