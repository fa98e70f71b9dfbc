// Streams that wait for the host, which may have to submit more before it ends the wait.
#include "reveza/gpu/interpose/host_waits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/queue_bound.h"
#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace host_waits_test {

using Kind = HostWaits::Kind;

class HostWaitsTest : public DifferentialTest {
 protected:
  void SetUp() override {
    DifferentialTest::SetUp();
    ASSERT_EQ(Through().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(Through().cuMemAlloc_v2(&memory_, kMiB), CUDA_SUCCESS);
    void* flag = nullptr;
    ASSERT_EQ(Through().cuMemHostAlloc(&flag, 4096, CU_MEMHOSTALLOC_DEVICEMAP), CUDA_SUCCESS);
    flag_ = static_cast<unsigned*>(flag);
    SetFlag(0);
    ASSERT_EQ(Through().cuMemHostGetDevicePointer_v2(&flag_address_, flag, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(Through().cuStreamSynchronize(stream_), CUDA_SUCCESS);
    EXPECT_EQ(Through().cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
    EXPECT_EQ(Through().cuMemFree_v2(memory_), CUDA_SUCCESS);
    EXPECT_EQ(Through().cuMemFreeHost(flag_), CUDA_SUCCESS);
    EXPECT_FALSE(Pending(Kind::kValue));
    EXPECT_FALSE(Pending(Kind::kFunction));
    DifferentialTest::TearDown();
  }

  void SetFlag(unsigned value) { __atomic_store_n(flag_, value, __ATOMIC_RELEASE); }
  CUresult Wait(const DriverCalls& calls, unsigned value) {
    return calls.cuStreamWaitValue32_v2(stream_, flag_address_, value, CU_STREAM_WAIT_VALUE_EQ);
  }
  void Submit(int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(Through().cuMemsetD32Async(memory_, 9, kMiB / 4, stream_), CUDA_SUCCESS);
    }
  }
  // Fewer than fit into the stream's queue: nothing leaves it.
  void SubmitUntilHeld() {
    Submit(100);
    while (!client().host_waits().held()) usleep(100);
  }
  bool Pending(Kind kind) { return client().host_waits().Pending(kind); }
  // Under contention, with a short bound.
  void BoundQueue() {
    daemon().Send(wire::Contention{1, 60'000'000});
    while (gate_internal::state.load() != gate_internal::kBounded) usleep(1000);
    QueueBound::SetBound(1000);
  }
  void UnboundQueue() {
    QueueBound::SetBound(100'000);
    daemon().Send(wire::Contention{0, 0});
    while (gate_internal::state.load() != gate_internal::kOpen) usleep(1000);
  }
  // Makes the gate open again when a thread waits at it.
  void Reopen() { daemon().SetAutoOpen(true); }

  CUstream stream_ = nullptr;
  CUdeviceptr memory_ = 0;
  unsigned* flag_ = nullptr;
  CUdeviceptr flag_address_ = 0;
};

int LinesWith(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

// ---- the queue bound ----

TEST_F(HostWaitsTest, QueueBoundDoesNotBlockWhoEndsTheWait) {
  BoundQueue();
  ::testing::internal::CaptureStderr();
  for (unsigned round = 1; round <= 3; ++round) {
    ASSERT_EQ(Wait(Through(), round), CUDA_SUCCESS);
    Submit(500);
    SetFlag(round);
    ASSERT_EQ(Through().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  }
  EXPECT_LE(LinesWith(::testing::internal::GetCapturedStderr(), "not bounded any more"), 1);
  UnboundQueue();
}

// As if the wait were in a graph or in a kernel.
TEST_F(HostWaitsTest, QueueBoundDoesNotBlockAWaitUnknownToIt) {
  BoundQueue();
  ASSERT_EQ(Wait(Direct(), 1), CUDA_SUCCESS);
  Submit(500);
  EXPECT_FALSE(Pending(Kind::kValue));
  SetFlag(1);
  UnboundQueue();
}

TEST_F(HostWaitsTest, ThreadThatWaitsForTheBoundContinuesWithoutContention) {
  BoundQueue();
  QueueBound::SetBound(60'000'000);
  ASSERT_EQ(Wait(Direct(), 1), CUDA_SUCCESS);
  std::atomic<int> submitted{0};
  std::thread thread([&] {
    ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    for (; submitted < 500; ++submitted) Submit(1);
  });
  while (submitted < 32) usleep(1000);
  UnboundQueue();
  thread.join();
  SetFlag(1);
}

// ---- what is recorded ----

TEST_F(HostWaitsTest, ValuesArePendingUntilWritten) {
  ASSERT_EQ(Wait(Through(), 1), CUDA_SUCCESS);
  EXPECT_TRUE(Pending(Kind::kValue));
  EXPECT_FALSE(Pending(Kind::kFunction));
  SetFlag(1);
  ASSERT_EQ(Through().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_FALSE(Pending(Kind::kValue));
  ASSERT_EQ(Through().cuStreamWaitValue64_v2(stream_, flag_address_, 2, CU_STREAM_WAIT_VALUE_GEQ),
            CUDA_SUCCESS);
  EXPECT_TRUE(Pending(Kind::kValue));
  SetFlag(2);
}

TEST_F(HostWaitsTest, BatchIsPendingIfItHasAWait) {
  CUstreamBatchMemOpParams operations[2]{};
  operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.address = flag_address_ + 4;
  operations[0].writeValue.value = 5;
  ASSERT_EQ(Through().cuStreamBatchMemOp_v2(stream_, 1, operations, 0), CUDA_SUCCESS);
  EXPECT_FALSE(Pending(Kind::kValue));
  operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operations[1].waitValue.address = flag_address_;
  operations[1].waitValue.value = 1;
  operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  ASSERT_EQ(Through().cuStreamBatchMemOp_v2(stream_, 2, operations, 0), CUDA_SUCCESS);
  EXPECT_TRUE(Pending(Kind::kValue));
  SetFlag(1);
}

TEST_F(HostWaitsTest, DestroyedStreamStillWaits) {
  CUstream stream = nullptr;
  ASSERT_EQ(Through().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuStreamWaitValue32_v2(stream, flag_address_, 1, CU_STREAM_WAIT_VALUE_EQ),
            CUDA_SUCCESS);
  ASSERT_EQ(Through().cuStreamDestroy_v2(stream), CUDA_SUCCESS);
  EXPECT_TRUE(Pending(Kind::kValue));
  SetFlag(1);
  ASSERT_EQ(Direct().cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_FALSE(Pending(Kind::kValue));
}

TEST_F(HostWaitsTest, WaitsOfADestroyedContextAreForgotten) {
  CUcontext other = nullptr;
  ASSERT_EQ(Through().cuCtxCreate_v4(&other, nullptr, 0, 0), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(Through().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuStreamWaitValue32_v2(stream, flag_address_, 1, CU_STREAM_WAIT_VALUE_EQ),
            CUDA_SUCCESS);
  EXPECT_TRUE(Pending(Kind::kValue));
  SetFlag(1);
  ASSERT_EQ(Through().cuCtxDestroy_v2(other), CUDA_SUCCESS);
  EXPECT_FALSE(Pending(Kind::kValue));
  ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

// ---- drains ----

constexpr std::uint32_t kLimitUs = 20'000'000;

TEST_F(HostWaitsTest, DrainLetsTheHostSubmitBeforeItEndsTheWait) {
  ASSERT_EQ(Wait(Through(), 1), CUDA_SUCCESS);
  std::thread program([&] {
    ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    SubmitUntilHeld();
    Submit(1);
    SetFlag(1);
  });
  daemon().SetAutoOpen(false);
  EXPECT_EQ(daemon().CloseGate(kLimitUs), std::nullopt);
  Reopen();
  program.join();
}

TEST_F(HostWaitsTest, DrainLetsTheHostSubmitBeforeAHostFunctionReturns) {
  std::atomic<bool> go{false};
  const auto function = [](void* data) {
    while (!*static_cast<std::atomic<bool>*>(data)) usleep(100);
  };
  ASSERT_EQ(Through().cuLaunchHostFunc(stream_, function, &go), CUDA_SUCCESS);
  EXPECT_TRUE(Pending(Kind::kFunction));
  EXPECT_FALSE(Pending(Kind::kValue));
  std::thread program([&] {
    ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    SubmitUntilHeld();
    Submit(1);
    go = true;
  });
  daemon().SetAutoOpen(false);
  EXPECT_EQ(daemon().CloseGate(kLimitUs), std::nullopt);
  Reopen();
  program.join();
}

// Rounds of a wait, work, and the end of the wait; a drain succeeds at any time, because the next
// wait is held back.
TEST_F(HostWaitsTest, DrainsSucceedBetweenWaits) {
  std::atomic<bool> stop{false};
  std::atomic<unsigned> rounds{0};
  std::thread program([&] {
    ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
    while (!stop) {
      const unsigned round = rounds + 1;
      ASSERT_EQ(Wait(Through(), round), CUDA_SUCCESS);
      Submit(20);
      SetFlag(round);
      ASSERT_EQ(Through().cuStreamSynchronize(stream_), CUDA_SUCCESS);
      rounds = round;
    }
  });
  for (int i = 0; i < 5; ++i) {
    const unsigned before = rounds;
    while (rounds == before) usleep(100);
    daemon().SetAutoOpen(false);
    EXPECT_EQ(daemon().CloseGate(kLimitUs), std::nullopt);
    Reopen();
  }
  stop = true;
  program.join();
}

TEST_F(HostWaitsTest, WaitThatDoesNotEndFailsTheDrainWithoutClosing) {
  ASSERT_EQ(Wait(Through(), 1), CUDA_SUCCESS);
  EXPECT_EQ(daemon().CloseGate(20'000), wire::DrainFailure::kLimit);
  EXPECT_FALSE(client().host_waits().held());
  Submit(1);
  SetFlag(1);
}

// The memory is freed when the GPU is idle; until then an allocation must not wait for that.
TEST_F(HostWaitsTest, AllocationAfterADeferredFreeDoesNotBlock) {
  CUstream capturing = nullptr;
  CUgraph graph = nullptr;
  CUdeviceptr deferred = 0;
  CUdeviceptr another = 0;
  ASSERT_EQ(Through().cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemAlloc_v2(&deferred, 4 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemFree_v2(deferred), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuStreamEndCapture(capturing, &graph), CUDA_SUCCESS);
  ASSERT_EQ(Wait(Through(), 1), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemAlloc_v2(&another, 4 * kMiB), CUDA_SUCCESS);
  SetFlag(1);
  EXPECT_EQ(Through().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuMemFree_v2(another), CUDA_SUCCESS);
  Through().cuGraphDestroy(graph);
  EXPECT_EQ(Through().cuStreamDestroy_v2(capturing), CUDA_SUCCESS);
}

}  // namespace host_waits_test
}  // namespace reveza::interpose::testing
