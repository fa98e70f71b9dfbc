// Admission of the first contexts, on eight fake GPUs: each test takes GPUs that no other has used.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace admission_test {

class AdmissionTest : public DifferentialTest {
 protected:
  void SetUp() override {
    daemon().SetAutoOpen(true);
    daemon().AnswerGrowth(wire::Growth::kGranted);
    ASSERT_EQ(Through().cuInit(0), CUDA_SUCCESS);
    daemon().Forget<wire::ContextRequested>();
    daemon().Forget<wire::ContextCreated>();
  }
  void TearDown() override { daemon().HoldContexts(false); }

  // Runs `call` in a thread, and returns once the thread is blocked in it.
  template <typename Call>
  static std::thread StartBlocked(Call call) {
    std::atomic<pid_t> id{0};
    std::thread thread([&id, call] {
      id = gettid();
      call();
    });
    while (id == 0) std::this_thread::yield();
    const std::string file = "/proc/self/task/" + std::to_string(id) + "/stat";
    for (std::string stat; stat.find(") S ") == std::string::npos; std::this_thread::yield()) {
      std::getline(std::ifstream(file), stat);
    }
    return thread;
  }

  // Returns the results of two threads that create the first context of `device` at the same time.
  // The request of the first one is answered when both wait.
  template <typename First, typename Second>
  std::pair<CUresult, CUresult> CreateTogether(First first, Second second) {
    daemon().HoldContexts(true);
    std::pair<CUresult, CUresult> results;
    std::thread one([&] { results.first = first(); });
    EXPECT_TRUE(daemon().Await<wire::ContextRequested>());
    std::thread other = StartBlocked([&] { results.second = second(); });
    daemon().HoldContexts(false);
    one.join();
    other.join();
    return results;
  }

  // Expects that `context` works, and that its memory is swapped: the ledger knows the context.
  void ExpectSwapped(CUcontext context, int device) {
    const DriverCalls& cuda = Through();
    const std::uint32_t number = NumberOf(device);
    ASSERT_EQ(cuda.cuCtxSetCurrent(context), CUDA_SUCCESS);
    CUdeviceptr memory = 0;
    ASSERT_EQ(cuda.cuMemAlloc_v2(&memory, 4 * kMiB), CUDA_SUCCESS);
    ASSERT_EQ(cuda.cuMemsetD32_v2(memory, 6, kMiB), CUDA_SUCCESS);
    daemon().SetAutoOpen(false);
    EXPECT_FALSE(daemon().CloseGate());
    EXPECT_EQ(daemon().Evict(number).copied, 4 * kMiB);
    daemon().SetAutoOpen(true);
    unsigned word = 0;
    EXPECT_EQ(cuda.cuMemcpyDtoH_v2(&word, memory, 4), CUDA_SUCCESS);
    EXPECT_EQ(word, 6u);
    EXPECT_EQ(cuda.cuMemFree_v2(memory), CUDA_SUCCESS);
    EXPECT_EQ(cuda.cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  }

  static std::uint32_t NumberOf(int device) {
    CUuuid uuid{};
    EXPECT_EQ(Direct().cuDeviceGetUuid(&uuid, device), CUDA_SUCCESS);
    return daemon().NumberOf(std::to_array(reinterpret_cast<std::uint8_t(&)[16]>(uuid.bytes)));
  }

  // Expects that one context creation was reported, and returns its overhead.
  Bytes OverheadReported() {
    const auto created = daemon().Await<wire::ContextCreated>();
    EXPECT_TRUE(created);
    return created ? created->overhead : 0;
  }
};

// Must be the first test: the gate is open until the first admission.
TEST_F(AdmissionTest, TwoGpusAtOnceCloseTheGate) {
  daemon().SetAutoOpen(false);
  daemon().HoldContexts(true);
  CUcontext contexts[2] = {};
  CUresult results[2] = {};
  std::vector<std::thread> threads;
  for (int device = 0; device < 2; ++device) {
    threads.emplace_back([&, device] {
      results[device] = Through().cuDevicePrimaryCtxRetain(&contexts[device], device);
    });
  }
  EXPECT_TRUE(daemon().Await<wire::ContextRequested>());
  EXPECT_TRUE(daemon().Await<wire::ContextRequested>());
  daemon().HoldContexts(false);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Gate::IsClosed());
  EXPECT_EQ(client().ledger().residency(), swap::Residency::kOut);
  daemon().SetAutoOpen(true);
  for (int device = 0; device < 2; ++device) {
    EXPECT_EQ(results[device], CUDA_SUCCESS);
    EXPECT_EQ(OverheadReported(), 2 * kMiB);
    ExpectSwapped(contexts[device], device);
  }
}

TEST_F(AdmissionTest, ThreadsShareOneRequest) {
  CUcontext contexts[2] = {};
  const auto results =
      CreateTogether([&] { return Through().cuDevicePrimaryCtxRetain(&contexts[0], 2); },
                     [&] { return Through().cuDevicePrimaryCtxRetain(&contexts[1], 2); });
  EXPECT_EQ(results, std::pair(CUDA_SUCCESS, CUDA_SUCCESS));
  EXPECT_EQ(contexts[0], contexts[1]);
  EXPECT_EQ(OverheadReported(), 2 * kMiB);
  ExpectSwapped(contexts[0], 2);
  EXPECT_FALSE(daemon().Has<wire::ContextRequested>());
  EXPECT_FALSE(daemon().Has<wire::ContextCreated>());
}

TEST_F(AdmissionTest, AfterAFailureTheOtherThreadRequests) {
  CUcontext context = nullptr;
  const auto results =
      CreateTogether([&] { return Through().cuCtxCreate_v2(nullptr, 0, 3); },
                     [&] { return Through().cuDevicePrimaryCtxRetain(&context, 3); });
  EXPECT_EQ(results, std::pair(CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS));
  EXPECT_TRUE(daemon().Await<wire::ContextRequested>());
  EXPECT_EQ(OverheadReported(), 0u);
  EXPECT_EQ(OverheadReported(), 2 * kMiB);
  EXPECT_EQ(client().ledger().GetUsage(3).context, 2 * kMiB);
  ExpectSwapped(context, 3);
}

TEST_F(AdmissionTest, FailureBesideACreatedContextIsNotReported) {
  CUcontext context = nullptr;
  const auto results =
      CreateTogether([&] { return Through().cuDevicePrimaryCtxRetain(&context, 4); },
                     [&] { return Through().cuCtxCreate_v2(nullptr, 0, 4); });
  EXPECT_EQ(results, std::pair(CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE));
  EXPECT_EQ(OverheadReported(), 2 * kMiB);
  ExpectSwapped(context, 4);
  EXPECT_FALSE(daemon().Has<wire::ContextRequested>());
  EXPECT_FALSE(daemon().Has<wire::ContextCreated>());
}

TEST_F(AdmissionTest, LaterContextsOfAGpuAreNotRequested) {
  const DriverCalls& cuda = Through();
  CUcontext primary = nullptr;
  CUcontext second = nullptr;
  const auto results = CreateTogether([&] { return cuda.cuDevicePrimaryCtxRetain(&primary, 5); },
                                      [&] { return cuda.cuCtxCreate_v2(&second, 0, 5); });
  EXPECT_EQ(results, std::pair(CUDA_SUCCESS, CUDA_SUCCESS));
  EXPECT_NE(primary, second);
  EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(5), CUDA_SUCCESS);
  ExpectSwapped(second, 5);
  EXPECT_EQ(OverheadReported(), 2 * kMiB);
  EXPECT_FALSE(daemon().Has<wire::ContextRequested>());
  EXPECT_FALSE(daemon().Has<wire::ContextCreated>());
  EXPECT_EQ(cuda.cuCtxDestroy_v2(second), CUDA_SUCCESS);
}

// A device without a context holds nothing, so there may be no room for another one.
TEST_F(AdmissionTest, ContextAfterTheLastIsRequestedAgain) {
  CUcontext context = nullptr;
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(Through().cuDevicePrimaryCtxRetain(&context, 7), CUDA_SUCCESS);
    EXPECT_EQ(OverheadReported(), 2 * kMiB);
    EXPECT_EQ(client().ledger().GetUsage(7).context, 2 * kMiB);
    ExpectSwapped(context, 7);
    EXPECT_EQ(Through().cuDevicePrimaryCtxRelease_v2(7), CUDA_SUCCESS);
    EXPECT_EQ(client().ledger().GetUsage(7).context, 0u);
  }
}

TEST_F(AdmissionTest, RestartedDaemonGetsOneRequest) {
  daemon().HoldContexts(true);
  CUcontext contexts[2] = {};
  CUresult results[2] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.push_back(
        StartBlocked([&, i] { results[i] = Through().cuDevicePrimaryCtxRetain(&contexts[i], 6); }));
  }
  EXPECT_TRUE(daemon().Await<wire::ContextRequested>());
  daemon().Disconnect();
  EXPECT_TRUE(daemon().Await<wire::ContextRequested>());
  daemon().HoldContexts(false);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results[0], CUDA_SUCCESS);
  EXPECT_EQ(results[1], CUDA_SUCCESS);
  EXPECT_EQ(contexts[0], contexts[1]);
  EXPECT_EQ(OverheadReported(), 2 * kMiB);
  ExpectSwapped(contexts[0], 6);
  EXPECT_FALSE(daemon().Has<wire::ContextRequested>());
}

TEST_F(AdmissionTest, FailedFirstContextHoldsNothing) {
  EXPECT_EQ(Through().cuCtxCreate_v2(nullptr, 0, 7), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(OverheadReported(), 0u);
  EXPECT_EQ(client().ledger().GetUsage(7).context, 0u);
}

}  // namespace admission_test
}  // namespace reveza::interpose::testing
