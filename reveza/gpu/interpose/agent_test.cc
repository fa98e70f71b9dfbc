// The agent executing the orders of a scripted daemon, on fakecuda.
#include "reveza/gpu/interpose/agent.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/resolver.h"
#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace agent_test {

class AgentTest : public DifferentialTest {
 protected:
  void SetUp() override {
    DifferentialTest::SetUp();
    ASSERT_EQ(Through().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(Through().cuMemAlloc_v2(&memory_, kMiB), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(Through().cuMemFree_v2(memory_), CUDA_SUCCESS);
    EXPECT_EQ(Through().cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
    DifferentialTest::TearDown();
  }

  // Launches a kernel that runs for `milliseconds`.
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
  CUdeviceptr memory_ = 0;
};

TEST_F(AgentTest, IsAThreadWithAName) {
  int found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm") >> std::ws, name);
    if (name == "reveza-agent") ++found;
  }
  EXPECT_EQ(found, 1);
}

TEST_F(AgentTest, CloseGateDrainsTheGpu) {
  Spin(2000);
  EXPECT_EQ(Direct().cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  EXPECT_FALSE(daemon().CloseGate());
  EXPECT_EQ(Direct().cuStreamQuery(stream_), CUDA_SUCCESS);
}

TEST_F(AgentTest, DrainTimeoutReopensTheGate) {
  Spin(6000);
  EXPECT_EQ(daemon().CloseGate(200'000), wire::DrainFailure::kLimit);
  EXPECT_FALSE(Gate::IsClosed());
  EXPECT_EQ(Direct().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_FALSE(daemon().CloseGate());
}

TEST_F(AgentTest, ReportsADrainThatTakesLong) {
  Spin(500);
  constexpr std::uint32_t kSerial = 100'000;
  daemon().SetAutoOpen(false);
  daemon().Send(wire::CloseGate{kSerial, 20'000'000, 1000, 0});
  const auto draining = daemon().Await<wire::Draining>();
  ASSERT_TRUE(draining);
  EXPECT_EQ(draining->serial, kSerial);
  EXPECT_EQ(Direct().cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  const auto closed = daemon().Await<wire::GateClosed>();
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->serial, kSerial);
  daemon().SetAutoOpen(true);
}

// Each admission lets exactly as much pass, drains, and asks for the gate again.
TEST_F(AgentTest, AdmitsSubmissionsThroughTheClosedGate) {
  daemon().SetAutoOpen(false);
  ASSERT_FALSE(daemon().CloseGate());
  daemon().Forget<wire::GateRequested>();
  std::atomic<int> launched{0};
  std::thread program([&] {
    ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    for (int i = 0; i < 12; ++i) {
      ASSERT_EQ(Through().cuMemsetD8Async(memory_, 1, 16, stream_), CUDA_SUCCESS);
      ++launched;
    }
  });
  int admitted = 0;
  for (const std::uint32_t submissions : {1u, 3u, 1u}) {
    EXPECT_TRUE(daemon().Await<wire::GateRequested>());
    EXPECT_EQ(daemon().CloseGate(20'000'000, submissions), std::nullopt);
    admitted += static_cast<int>(submissions);
    EXPECT_EQ(launched.load(), admitted);
    EXPECT_EQ(Direct().cuStreamQuery(stream_), CUDA_SUCCESS);
  }
  daemon().SetAutoOpen(true);
  program.join();
}

// As long as not all is used, the gate stays as it is until it is ordered closed.
TEST_F(AgentTest, UnusedAdmissionsAreWithdrawn) {
  daemon().SetAutoOpen(false);
  ASSERT_FALSE(daemon().CloseGate());
  daemon().Forget<wire::GateClosed>();
  constexpr std::uint32_t kSerial = 100'000;
  daemon().Send(wire::CloseGate{kSerial, 20'000'000, 20'000'000, 5});
  ASSERT_EQ(Through().cuMemsetD8Async(memory_, 1, 16, stream_), CUDA_SUCCESS);
  EXPECT_FALSE(daemon().Has<wire::GateClosed>());
  EXPECT_EQ(daemon().CloseGate(), std::nullopt);
  EXPECT_TRUE(Gate::IsClosed());
  daemon().SetAutoOpen(true);
}

// What was allocated behind the closed gate is not there.
TEST_F(AgentTest, NothingIsAdmittedWithMemoryAllocatedBehindTheGate) {
  daemon().SetAutoOpen(false);
  ASSERT_FALSE(daemon().CloseGate());
  daemon().AnswerGrowth(wire::Growth::kLater);
  CUdeviceptr memory = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&memory, 4 * kMiB), CUDA_SUCCESS);
  std::thread program([&] {
    ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    ASSERT_EQ(Through().cuMemsetD8_v2(memory, 1, 4 * kMiB), CUDA_SUCCESS);
  });
  EXPECT_TRUE(daemon().Await<wire::GateRequested>());
  const std::uint64_t before = Gate::Submissions();
  EXPECT_EQ(daemon().CloseGate(20'000'000, 5), std::nullopt);
  EXPECT_TRUE(Gate::AdmissionUsedUp());
  EXPECT_EQ(Gate::Submissions(), before);
  daemon().AnswerGrowth(wire::Growth::kGranted);
  daemon().SetAutoOpen(true);
  program.join();
  EXPECT_EQ(Through().cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(AgentTest, ProgramGoesOnWhenTheDaemonEndsDuringAnAdmission) {
  daemon().SetAutoOpen(false);
  ASSERT_FALSE(daemon().CloseGate());
  daemon().Send(wire::CloseGate{100'000, 20'000'000, 20'000'000, 1});
  ASSERT_EQ(Through().cuMemsetD8Async(memory_, 1, 16, stream_), CUDA_SUCCESS);
  daemon().Disconnect();
  ASSERT_EQ(Through().cuMemsetD8Async(memory_, 1, 16, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  daemon().SetAutoOpen(true);
}

// A withdrawal that crosses the report of a failed drain is answered already.
TEST_F(AgentTest, WithdrawalAfterAFailedDrainKeepsTheGateOpen) {
  Spin(500);
  daemon().SetAutoOpen(false);
  constexpr std::uint32_t kSerial = 100'000;
  daemon().Send(wire::CloseGate{kSerial, 50'000, 50'000, 0});
  EXPECT_TRUE(daemon().Await<wire::DrainFailed>());
  EXPECT_EQ(Direct().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  daemon().Forget<wire::SwappedIn>();
  daemon().Send(wire::CloseGate{kSerial, 20'000'000, 20'000'000, 0});
  daemon().Send(wire::SwapIn{kSerial + 1, 0});  // answered after it
  EXPECT_TRUE(daemon().Await<wire::SwappedIn>());
  EXPECT_FALSE(daemon().Has<wire::GateClosed>());
  EXPECT_FALSE(Gate::IsClosed());
  daemon().SetAutoOpen(true);
}

// A restarted daemon numbers its orders anew.
TEST_F(AgentTest, OrderOfTheNextDaemonWithTheNumberOfAFailedDrainIsCarriedOut) {
  Spin(500);
  daemon().SetAutoOpen(false);
  constexpr std::uint32_t kSerial = 100'000;
  daemon().Send(wire::CloseGate{kSerial, 50'000, 50'000, 0});
  EXPECT_TRUE(daemon().Await<wire::DrainFailed>());
  EXPECT_EQ(Direct().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  daemon().Forget<wire::Hello>();
  daemon().Disconnect();
  ASSERT_TRUE(daemon().Await<wire::Hello>());
  daemon().Send(wire::CloseGate{kSerial, 20'000'000, 20'000'000, 0});
  const auto closed = daemon().Await<wire::GateClosed>();
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->serial, kSerial);
  daemon().SetAutoOpen(true);
}

TEST_F(AgentTest, ReportsIdleUnderContention) {
  daemon().Send(wire::Contention{1, 20'000});
  EXPECT_TRUE(daemon().Await<wire::Idle>());
  daemon().Send(wire::Contention{0, 0});
}

// Under contention a thread that submits without waiting stays close to the GPU: of 2 s of work the
// first half is done when the last kernel is submitted.
TEST_F(AgentTest, QueueIsBoundedUnderContention) {
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

TEST_F(AgentTest, QueueIsBoundedWithoutContentionOnRequest) {
  daemon().Send(wire::QueueBound{10'000, 1});
  while (gate_internal::state.load() != gate_internal::kBounded) usleep(1000);
  daemon().Send(wire::QueueBound{100'000, 0});
  while (gate_internal::state.load() != gate_internal::kOpen) usleep(1000);
}

// The daemon waits for an answer to each order, and orders nothing else meanwhile.
TEST_F(AgentTest, SwapInThatCrossesAnOrderToOpenIsAnswered) {
  daemon().SetAutoOpen(false);
  ASSERT_FALSE(daemon().CloseGate());
  daemon().Forget<wire::SwappedIn>();
  constexpr std::uint32_t kSerial = 100'000;
  daemon().Send(wire::OpenGate{kSerial, 0});
  daemon().Send(wire::SwapIn{kSerial + 1, 0});
  const auto answer = daemon().Await<wire::SwappedIn>();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->serial, kSerial + 1);
  daemon().SetAutoOpen(true);
}

// The child has no agent to open the gate, so calls must go to the driver at once.
TEST_F(AgentTest, ForkedChildIsNotAClient) {
  daemon().SetAutoOpen(false);
  EXPECT_FALSE(daemon().CloseGate());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // in case the child blocks
    const CUresult result = Through().cuMemsetD8_v2(0x1000, 0, 1);
    _exit(result != CUDA_SUCCESS && Client::Get() == nullptr ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  daemon().SetAutoOpen(true);
}

// Must be the last test: it disables swapping permanently.
TEST_F(AgentTest, UnknownCallDisablesEviction) {
  constexpr Bytes kResident = 8 * kMiB + swap::kGranularity;  // with that of the fixture
  const CUdeviceptr memory = [] {
    CUdeviceptr address = 0;
    EXPECT_EQ(Through().cuMemAlloc_v2(&address, 8 * kMiB), CUDA_SUCCESS);
    return address;
  }();
  EXPECT_TRUE(
      daemon().AwaitUsage([](const wire::Account& usage) { return usage.resident == kResident; }));
  OnUnknownCall("cuFutureCall");
  EXPECT_TRUE(daemon().AwaitUsage(
      [](const wire::Account& usage) { return usage.pinned == kResident && usage.resident == 0; }));
  EXPECT_FALSE(daemon().CloseGate());
  const wire::Evicted evicted = daemon().Evict();
  EXPECT_EQ(evicted.failure, wire::EvictFailure::kDriver);
  EXPECT_EQ(evicted.freed, 0u);
  EXPECT_EQ(usage().resident, kResident);
  EXPECT_EQ(Through().cuMemFree_v2(memory), CUDA_SUCCESS);
}

}  // namespace agent_test
}  // namespace reveza::interpose::testing
