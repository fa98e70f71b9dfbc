// Hooks of contexts: same results as the driver, and cleanup on destruction.
#include <gtest/gtest.h>

#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace hooks_context_test {

class HooksContextTest : public DifferentialTest {
 protected:
  // Creates a context and makes it current.
  static CUcontext Make(const DriverCalls& cuda) {
    CUcontext context = nullptr;
    EXPECT_EQ(cuda.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    return context;
  }
};

TEST_F(HooksContextTest, FollowTheDriversRules) {
  Compare([](Pass& pass) {
    CUcontext context = nullptr;
    pass.Note("nowhere to write", pass.cuda.cuCtxCreate_v2(nullptr, 0, 0));
    pass.Note("a device that is not there", pass.cuda.cuCtxCreate_v2(&context, 0, 99));
    pass.Note("primary, nowhere to write", pass.cuda.cuDevicePrimaryCtxRetain(nullptr, 0));
    pass.Note("primary of no device", pass.cuda.cuDevicePrimaryCtxRetain(&context, 99));
    pass.Note("good", pass.cuda.cuCtxCreate_v2(&context, 0, 0));
    pass.Note("destroy", pass.cuda.cuCtxDestroy_v2(context));
    // The error code varies on real drivers.
    EXPECT_NE(pass.cuda.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    pass.Note("none", pass.cuda.cuCtxDestroy_v2(nullptr));
    pass.Note("release of no device", pass.cuda.cuDevicePrimaryCtxRelease_v2(99));
    pass.Note("reset of no device", pass.cuda.cuDevicePrimaryCtxReset_v2(99));
  });
}

TEST_F(HooksContextTest, AllocationsEndWithTheirContext) {
  Compare([](Pass& pass) {
    const CUdeviceptr stays = pass.Allocate(4 * kMiB);
    pass.Fill(stays, 4, 1);
    const CUcontext context = Make(pass.cuda);
    const CUdeviceptr large = pass.Allocate(4 * kMiB);
    const CUdeviceptr small = pass.Allocate(100);
    pass.SwapOut();
    pass.Note("destroy", pass.cuda.cuCtxDestroy_v2(context));
    pass.Note("free of what ended", pass.cuda.cuMemFree_v2(large));
    pass.Note("free of what ended", pass.cuda.cuMemFree_v2(small));
    pass.NoteWord("of the other context", stays);
    pass.Note("free", pass.cuda.cuMemFree_v2(stays));
  });
}

TEST_F(HooksContextTest, AccountingFollowsDestroyedContexts) {
  const CUcontext context = Make(Through());
  CUdeviceptr memory = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&memory, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(usage().resident, 4 * kMiB);
  EXPECT_EQ(Through().cuCtxDestroy_v2(context), CUDA_SUCCESS);
  EXPECT_EQ(usage().resident, 0u);
}

TEST_F(HooksContextTest, APrimaryContextEndsWithItsLastReference) {
  CUcontext again = nullptr;
  ASSERT_EQ(Through().cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(again, context_);
  CUdeviceptr memory = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&memory, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(usage().resident, 4 * kMiB);
  EXPECT_EQ(Through().cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(usage().resident, 0u);
  // A new context takes over and is swapped as the old one was.
  ASSERT_EQ(Through().cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemAlloc_v2(&memory, 4 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemsetD32_v2(memory, 6, kMiB), CUDA_SUCCESS);
  daemon().SetAutoOpen(false);
  EXPECT_FALSE(daemon().CloseGate());
  EXPECT_EQ(daemon().Evict().copied, 4 * kMiB);
  daemon().SetAutoOpen(true);
  unsigned word = 0;
  EXPECT_EQ(Through().cuMemcpyDtoH_v2(&word, memory, 4), CUDA_SUCCESS);
  EXPECT_EQ(word, 6u);
  EXPECT_EQ(Through().cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(HooksContextTest, ADetachedContextEndsWithItsLastReference) {
  Compare([](Pass& pass) {
    const CUcontext context = Make(pass.cuda);
    CUcontext again = nullptr;
    pass.Note("attach, bad flags", pass.cuda.cuCtxAttach(&again, 1));
    pass.Note("attach", pass.cuda.cuCtxAttach(&again, 0));
    EXPECT_EQ(again, context);
    const CUdeviceptr memory = pass.Allocate(4 * kMiB);
    pass.Fill(memory, 5, kMiB);
    pass.SwapOut();
    pass.Note("detach", pass.cuda.cuCtxDetach(context));
    pass.NoteWord("after the first", memory);
    pass.Note("detach the last", pass.cuda.cuCtxDetach(context));
    pass.Note("free of what ended", pass.cuda.cuMemFree_v2(memory));
  });
  EXPECT_EQ(usage().resident, 0u);
}

TEST_F(HooksContextTest, ARefusedEndKeepsTheMemory) {
  Compare([](Pass& pass) {
    CUcontext primary = nullptr;
    pass.cuda.cuCtxGetCurrent(&primary);
    const CUdeviceptr memory = pass.Allocate(4 * kMiB);
    pass.Fill(memory, 5, kMiB);
    pass.Note("destroy a primary context", pass.cuda.cuCtxDestroy_v2(primary));
    pass.Note("detach a primary context", pass.cuda.cuCtxDetach(primary));
    pass.NoteWord("still there", memory);
    pass.Note("free", pass.cuda.cuMemFree_v2(memory));
  });
}

TEST_F(HooksContextTest, TheLastContextReturnsItsMemory) {
  ASSERT_TRUE(daemon().AwaitUsage([](const wire::Account& usage) { return usage.context > 0; }));
  while (daemon().Has<wire::ContextCreated>()) daemon().Await<wire::ContextCreated>();
  EXPECT_EQ(Through().cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(usage().context, 0u);
  EXPECT_TRUE(daemon().AwaitUsage([](const wire::Account& usage) { return usage.context == 0; }));
  // The next one asks for room again.
  ASSERT_EQ(Through().cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_TRUE(daemon().Await<wire::ContextCreated>());
  EXPECT_GT(usage().context, 0u);
}

// What cuMemCreate made outlives all contexts. Swapped out, it needs one to come back; without one
// it cannot move.
TEST_F(HooksContextTest, MemoryOfHandlesOutlivesTheLastContext) {
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  const CUmemAllocationProp properties = Pass::Properties();
  const CUmemAccessDesc access = Pass::ReadWrite();
  ASSERT_EQ(Through().cuMemCreate(&handle, 4 * kMiB, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemAddressReserve(&address, 4 * kMiB, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemMap(address, 4 * kMiB, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemSetAccess(address, 4 * kMiB, &access, 1), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemsetD32_v2(address, 6, kMiB), CUDA_SUCCESS);
  daemon().SetAutoOpen(false);
  EXPECT_FALSE(daemon().CloseGate());
  EXPECT_EQ(daemon().Evict().copied, 4 * kMiB);
  daemon().SetAutoOpen(true);
  EXPECT_EQ(Through().cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(usage().pinned, 4 * kMiB);
  EXPECT_EQ(usage().swapped, 0u);

  // The gate opens without a context, also for memory that has no contents yet.
  daemon().SetAutoOpen(false);
  EXPECT_FALSE(daemon().CloseGate());
  EXPECT_EQ(daemon().Evict().copied, 0u);
  CUmemGenericAllocationHandle other = 0;
  ASSERT_EQ(Through().cuMemCreate(&other, 4 * kMiB, &properties, 0), CUDA_SUCCESS);
  daemon().SetAutoOpen(true);
  {
    const GateScope wait_until_it_is_open;
  }
  EXPECT_EQ(Through().cuMemRelease(other), CUDA_SUCCESS);

  ASSERT_EQ(Through().cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(usage().pinned, 0u);
  daemon().SetAutoOpen(false);
  EXPECT_FALSE(daemon().CloseGate());
  EXPECT_EQ(daemon().Evict().copied, 0u) << "it has not changed";
  daemon().SetAutoOpen(true);
  unsigned word = 0;
  EXPECT_EQ(Through().cuMemcpyDtoH_v2(&word, address, 4), CUDA_SUCCESS);
  EXPECT_EQ(word, 6u);
  EXPECT_EQ(Through().cuMemUnmap(address, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuMemAddressFree(address, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuMemRelease(handle), CUDA_SUCCESS);
}

TEST_F(HooksContextTest, OnlyTheFirstContextIsReported) {
  EXPECT_TRUE(daemon().Await<wire::ContextCreated>());
  const CUcontext context = Make(Through());
  EXPECT_EQ(Through().cuCtxDestroy_v2(context), CUDA_SUCCESS);
  EXPECT_FALSE(daemon().Has<wire::ContextCreated>());
}

}  // namespace hooks_context_test
}  // namespace reveza::interpose::testing
