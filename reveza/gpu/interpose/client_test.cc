#include "reveza/gpu/interpose/client.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace client_test {

TEST(EmulatedTotalTest, IsMinimumOfTotalAndBudget) {
  unsetenv("REVEZA_GPU_BUDGET");
  EXPECT_EQ(Client::EmulatedTotal(kGiB), kGiB);
  setenv("REVEZA_GPU_BUDGET", "1048576", 1);
  EXPECT_EQ(Client::EmulatedTotal(kGiB), kMiB);
  EXPECT_EQ(Client::EmulatedTotal(4096), 4096u);
  for (const char* nonsense : {"", "0", "much"}) {
    setenv("REVEZA_GPU_BUDGET", nonsense, 1);
    EXPECT_EQ(Client::EmulatedTotal(kGiB), kGiB) << nonsense;
  }
  unsetenv("REVEZA_GPU_BUDGET");
}

using ClientTest = DifferentialTest;

TEST_F(ClientTest, IsASingleton) {
  Client* const client = Client::Get();
  EXPECT_EQ(Client::Start(), client);
  CUcontext again = nullptr;
  EXPECT_EQ(Through().cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(Client::Get(), client);
  EXPECT_EQ(Through().cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
}

// The child has no agent and no context: its calls go to the driver, which rejects them.
TEST_F(ClientTest, ForkedChildHasNoClient) {
  const DriverCalls& cuda = Through();
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr memory = 0;
    const bool none = Client::Get() == nullptr && Client::Start() == nullptr;
    const bool refused = cuda.cuMemAlloc_v2(&memory, 4096) == CUDA_ERROR_NOT_INITIALIZED;
    const bool open = cuda.cuMemsetD8_v2(0, 0, 1) != CUDA_SUCCESS;  // does not block
    _exit(none && refused && open ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  CUdeviceptr memory = 0;
  EXPECT_EQ(Through().cuMemAlloc_v2(&memory, 4096), CUDA_SUCCESS) << "the parent is unaffected";
  EXPECT_EQ(Through().cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(ClientTest, PinnedReservationWaitsForTheGateOnLater) {
  daemon().SetAutoOpen(false);
  ASSERT_FALSE(daemon().CloseGate());
  client().ledger().TakeSpare(0, 0);
  daemon().Forget<wire::GrowthRequested>();
  bool reserved = false;
  std::thread thread([&] {
    EXPECT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    reserved = client().ReservePinned(0, 4 * kMiB);
  });
  const auto asked = daemon().Await<wire::GrowthRequested>();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->kind, wire::GrowthKind::kPinned);
  EXPECT_TRUE(daemon().Await<wire::GateRequested>()) << "it blocks at the gate";
  EXPECT_EQ(usage().pinned, 0u);
  daemon().SetAutoOpen(true);
  thread.join();
  EXPECT_TRUE(reserved);
  EXPECT_EQ(usage().pinned, 4 * kMiB);
  client().ReleasePinned(0, 4 * kMiB);
}

TEST_F(ClientTest, ReservationBeyondBudgetIsNotRequested) {
  daemon().Forget<wire::GrowthRequested>();
  EXPECT_FALSE(client().ReservePinned(0, kBudget + 1));
  EXPECT_FALSE(daemon().Has<wire::GrowthRequested>());
}

// A program that was refused frees memory and retries at once: the free must be reported first.
TEST_F(ClientTest, FreesAreReportedBeforeGrowthRequests) {
  const DriverCalls& cuda = Through();
  daemon().SetAutoOpen(false);
  ASSERT_FALSE(daemon().CloseGate());
  CUdeviceptr kept = 0;
  ASSERT_EQ(cuda.cuMemAlloc_v2(&kept, 16 * kMiB), CUDA_SUCCESS);
  for (int round = 0; round < 5; ++round) {
    CUdeviceptr memory = 0;
    ASSERT_EQ(cuda.cuMemAlloc_v2(&memory, 48 * kMiB), CUDA_SUCCESS);
    ASSERT_TRUE(
        daemon().AwaitUsage([](const wire::Account& usage) { return usage.swapped == 64 * kMiB; }));
    ASSERT_EQ(cuda.cuMemFree_v2(memory), CUDA_SUCCESS);
    daemon().AnswerGrowth(wire::Growth::kRefused);
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 64 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(daemon().UsageWhenAsked().swapped, 16 * kMiB);
    daemon().AnswerGrowth(wire::Growth::kGranted);
  }
  EXPECT_EQ(cuda.cuMemFree_v2(kept), CUDA_SUCCESS);
  daemon().SetAutoOpen(true);
}

// Else the daemon counts it twice: what the client has credit for, and what it asks for.
TEST_F(ClientTest, FreedCreditIsReturnedBeforeGrowthRequests) {
  const DriverCalls& cuda = Through();
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuda.cuMemAlloc_v2(&memory, 48 * kMiB), CUDA_SUCCESS);
  daemon().SetAutoOpen(false);
  ASSERT_FALSE(daemon().CloseGate());
  const Bytes before = daemon().Returned();
  ASSERT_EQ(cuda.cuMemFree_v2(memory), CUDA_SUCCESS);
  ASSERT_EQ(cuda.cuMemAlloc_v2(&memory, 48 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(daemon().ReturnedWhenAsked() - before, 48 * kMiB);
  EXPECT_EQ(cuda.cuMemFree_v2(memory), CUDA_SUCCESS);
  daemon().SetAutoOpen(true);
}

// The thread that asked for it may run later than the next report.
TEST_F(ClientTest, GrantedCreditIsNotReturnedBeforeItIsUsed) {
  swap::Ledger& ledger = client().ledger();
  ledger.AddCredit(0, 48 * kMiB);
  ledger.Promise(0, 48 * kMiB);
  daemon().SetAutoOpen(false);
  ASSERT_FALSE(daemon().CloseGate());
  EXPECT_EQ(usage().spare, 48 * kMiB);
  ledger.Fulfil(0, 48 * kMiB);
  ASSERT_FALSE(daemon().CloseGate());
  EXPECT_EQ(usage().spare, 0u);
  daemon().SetAutoOpen(true);
}

// Requests are rounded up to the granule, but the remainder of the GPU must be usable as well.
TEST_F(ClientTest, RefusedRoundedRequestIsRetriedExactly) {
  wire::ContextAdmitted admitted{};
  CUuuid uuid{};
  ASSERT_EQ(Direct().cuDeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
  std::memcpy(admitted.uuid, uuid.bytes, sizeof(admitted.uuid));
  admitted.granule = 8 * kMiB;
  daemon().Send(admitted);
  client().ledger().TakeSpare(0, 0);
  daemon().Forget<wire::GrowthRequested>();
  daemon().RefuseAbove(4 * kMiB);
  EXPECT_TRUE(client().ReservePinned(0, 4 * kMiB));
  daemon().RefuseAbove(~Bytes{0});
  EXPECT_EQ(daemon().Await<wire::GrowthRequested>()->bytes, 8 * kMiB);
  EXPECT_EQ(daemon().Await<wire::GrowthRequested>()->bytes, 4 * kMiB);
  client().ReleasePinned(0, 4 * kMiB);
  admitted.granule = 2 * kMiB;
  daemon().Send(admitted);
}

TEST_F(ClientTest, RequestsAreNotRoundedNearTheBudget) {
  wire::ContextAdmitted admitted{};
  CUuuid uuid{};
  ASSERT_EQ(Direct().cuDeviceGetUuid(&uuid, 0), CUDA_SUCCESS);
  std::memcpy(admitted.uuid, uuid.bytes, sizeof(admitted.uuid));
  admitted.granule = 8 * kMiB;
  daemon().Send(admitted);
  ASSERT_TRUE(client().ReservePinned(0, kBudget / 4 * 3));
  client().ledger().TakeSpare(0, 0);
  daemon().Forget<wire::GrowthRequested>();
  EXPECT_TRUE(client().ReservePinned(0, 4 * kMiB));
  EXPECT_EQ(daemon().Await<wire::GrowthRequested>()->bytes, 4 * kMiB);
  client().ReleasePinned(0, kBudget / 4 * 3 + 4 * kMiB);
  admitted.granule = 2 * kMiB;
  daemon().Send(admitted);
}

TEST_F(ClientTest, AccountingIsReported) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&memory, 8 * kMiB), CUDA_SUCCESS);
  EXPECT_TRUE(
      daemon().AwaitUsage([](const wire::Account& usage) { return usage.resident == 8 * kMiB; }));
  EXPECT_EQ(Through().cuMemFree_v2(memory), CUDA_SUCCESS);
  EXPECT_TRUE(daemon().AwaitUsage([](const wire::Account& usage) { return usage.resident == 0; }));
}

}  // namespace client_test
}  // namespace reveza::interpose::testing
