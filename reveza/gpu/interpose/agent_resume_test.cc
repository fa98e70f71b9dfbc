// Reconnecting to a restarted daemon, on fakecuda: the state reported in Hello must be accurate.
#include <gtest/gtest.h>

#include <thread>

#include "reveza/gpu/interpose/agent.h"
#include "reveza/gpu/interpose/client.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace agent_resume_test {

class AgentResumeTest : public DifferentialTest {
 protected:
  // The first test creates the context itself.
  void SetUp() override {
    daemon().SetAutoOpen(true);
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

// The context does not exist yet: the restarted daemon must not take it over as resumed.
TEST_F(AgentResumeTest, PendingContextIsRequestedAgain) {
  daemon().HoldContexts(true);
  CUresult made = CUDA_ERROR_UNKNOWN;
  std::thread program([&] { made = MakeContext(); });
  ASSERT_TRUE(daemon().Await<wire::ContextRequested>());
  ASSERT_TRUE(daemon().Await<wire::Hello>());
  daemon().Disconnect();
  daemon().HoldContexts(false);
  const auto hello = daemon().Await<wire::Hello>();
  program.join();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->flags & wire::kHelloResuming, 0u);
  EXPECT_FALSE(daemon().Has<wire::Resumed>());
  ASSERT_EQ(made, CUDA_SUCCESS);
  EXPECT_TRUE(Gate::IsClosed());
  ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(usage().context, 2 * kMiB);
  AllocateAndClear();
  EXPECT_TRUE(daemon().Await<wire::GateRequested>());
}

// The GPU cannot keep what the job asks for.
TEST_F(AgentResumeTest, ARefusedContextIsOutOfMemory) {
  daemon().RefuseContexts("24 GiB cannot be promised");
  EXPECT_EQ(MakeContext(), CUDA_ERROR_OUT_OF_MEMORY);
  daemon().RefuseContexts(nullptr);
  EXPECT_EQ(MakeContext(), CUDA_SUCCESS);
  AllocateAndClear();
}

// What was changed while the program runs outlives the daemon.
TEST_F(AgentResumeTest, ThePolicyIsToldToTheNextDaemon) {
  ASSERT_EQ(MakeContext(), CUDA_SUCCESS);
  wire::Policy policy{};
  policy.fields = wire::kPolicyWeight | wire::kPolicyPaused;
  policy.weight = 250;
  policy.paused = 1;
  daemon().Send(policy);
  daemon().Send(wire::SwapIn{77, 0});  // answered after it
  ASSERT_TRUE(daemon().Await<wire::SwappedIn>());
  daemon().Disconnect();
  const auto told = daemon().Await<wire::Policy>();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->fields, policy.fields);
  EXPECT_EQ(told->weight, 250u);
  EXPECT_EQ(told->paused, 1u);
}

TEST_F(AgentResumeTest, YieldsAndHoldsAreTold) {
  ASSERT_EQ(MakeContext(), CUDA_SUCCESS);
  Client::Get()->Yield();
  EXPECT_TRUE(daemon().Await<wire::Yield>());
  Client::Get()->Hold(true);
  const auto begun = daemon().Await<wire::Hold>();
  ASSERT_TRUE(begun);
  EXPECT_EQ(begun->on, 1u);
  Client::Get()->Hold(true);
  Client::Get()->Hold(false);
  Client::Get()->Hold(false);
  Client::Get()->Hold(false);  // once too often
  const auto ended = daemon().Await<wire::Hold>();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->on, 0u);
  Client::Get()->Hold(true);
  EXPECT_TRUE(daemon().Await<wire::Hold>());
  Client::Get()->Hold(false);
}

// A daemon that was not upgraded yet.
TEST_F(AgentResumeTest, SpeaksTheVersionOfAnOlderDaemon) {
  ASSERT_EQ(MakeContext(), CUDA_SUCCESS);
  AllocateAndClear();
  daemon().Forget<wire::Hello>();
  daemon().SetVersion(wire::kMinVersion);
  daemon().Disconnect();
  ASSERT_TRUE(daemon().Await<wire::Hello>());
  ASSERT_TRUE(daemon().Await<wire::Resumed>());
  EXPECT_EQ(daemon().CloseGate(), std::nullopt);
  Client::Get()->Yield();
  AllocateAndClear();  // the agent has seen the yield once it has answered this
  EXPECT_EQ(daemon().CloseGate(), std::nullopt);
  AllocateAndClear();
  daemon().Forget<wire::Hello>();
  daemon().SetVersion(wire::kVersion);
  daemon().Disconnect();
  ASSERT_TRUE(daemon().Await<wire::Hello>()) << "and that of the next one";
  EXPECT_FALSE(daemon().Has<wire::Yield>());
}

// A gate reported as open in Hello is closed only by order of the daemon.
TEST_F(AgentResumeTest, OpenGateStaysOpenWithoutContexts) {
  ASSERT_EQ(MakeContext(), CUDA_SUCCESS);
  AllocateAndClear();
  EXPECT_EQ(Through().cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  while (Through().cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS) {
  }
  daemon().Forget<wire::Hello>();
  daemon().Forget<wire::GateRequested>();
  daemon().Disconnect();
  const auto hello = daemon().Await<wire::Hello>();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->gate_open, 1u);
  ASSERT_TRUE(daemon().Await<wire::Resumed>());
  // Idle is reported only with an open gate.
  daemon().Send(wire::Contention{1, 1'000});
  EXPECT_TRUE(daemon().Await<wire::Idle>());
  daemon().Send(wire::Contention{0, 0});
  ASSERT_EQ(MakeContext(), CUDA_SUCCESS);
  AllocateAndClear();
  EXPECT_FALSE(Gate::IsClosed());
  EXPECT_FALSE(daemon().Has<wire::GateRequested>());
}

}  // namespace agent_resume_test
}  // namespace reveza::interpose::testing
