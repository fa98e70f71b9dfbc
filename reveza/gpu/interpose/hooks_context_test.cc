// Hooks of contexts: same results as the driver, and cleanup on destruction.
#include <gtest/gtest.h>

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

TEST_F(HooksContextTest, OnlyTheFirstContextIsReported) {
  EXPECT_TRUE(daemon().Await<wire::ContextCreated>());
  const CUcontext context = Make(Through());
  EXPECT_EQ(Through().cuCtxDestroy_v2(context), CUDA_SUCCESS);
  EXPECT_FALSE(daemon().Has<wire::ContextCreated>());
}

}  // namespace hooks_context_test
}  // namespace reveza::interpose::testing
