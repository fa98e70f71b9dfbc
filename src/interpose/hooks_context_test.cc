// Contexts: the same answers, and what ends with one.
#include <gtest/gtest.h>

#include "interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace {

class HooksContextTest : public DifferentialTest {
 protected:
  // A context of its own, current.
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
    // Which error it is, a real driver says at random.
    EXPECT_NE(pass.cuda.cuCtxDestroy_v2(context), CUDA_SUCCESS);
    pass.Note("none", pass.cuda.cuCtxDestroy_v2(nullptr));
    pass.Note("release of no device", pass.cuda.cuDevicePrimaryCtxRelease_v2(99));
    pass.Note("reset of no device", pass.cuda.cuDevicePrimaryCtxReset_v2(99));
  });
}

TEST_F(HooksContextTest, WhatWasAllocatedEndsWithItsContext) {
  Compare([](Pass& pass) {
    const CUdeviceptr stays = pass.Allocate(4 * kMiB);
    pass.Fill(stays, 4, 1);
    const CUcontext context = Make(pass.cuda);
    const CUdeviceptr large = pass.Allocate(4 * kMiB);
    const CUdeviceptr small = pass.Allocate(100);
    pass.MoveOut();
    pass.Note("destroy", pass.cuda.cuCtxDestroy_v2(context));
    pass.Note("free of what ended", pass.cuda.cuMemFree_v2(large));
    pass.Note("free of what ended", pass.cuda.cuMemFree_v2(small));
    pass.NoteWord("of the other context", stays);
    pass.Note("free", pass.cuda.cuMemFree_v2(stays));
  });
}

TEST_F(HooksContextTest, TheBooksForgetWhatEnded) {
  const CUcontext context = Make(Through());
  CUdeviceptr memory = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&memory, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(books().resident, 4 * kMiB);
  EXPECT_EQ(Through().cuCtxDestroy_v2(context), CUDA_SUCCESS);
  EXPECT_EQ(books().resident, 0u);
}

TEST_F(HooksContextTest, APrimaryContextEndsWithItsLastReference) {
  CUcontext again = nullptr;
  ASSERT_EQ(Through().cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(again, context_);
  CUdeviceptr memory = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&memory, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(books().resident, 4 * kMiB);
  EXPECT_EQ(Through().cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(books().resident, 0u);
  // A new one takes its place, and moves as the old one did.
  ASSERT_EQ(Through().cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemAlloc_v2(&memory, 4 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemsetD32_v2(memory, 6, kMiB), CUDA_SUCCESS);
  daemon().LetIn(false);
  EXPECT_FALSE(daemon().CloseGate());
  EXPECT_EQ(daemon().Evict().copied, 4 * kMiB);
  daemon().LetIn(true);
  unsigned word = 0;
  EXPECT_EQ(Through().cuMemcpyDtoH_v2(&word, memory, 4), CUDA_SUCCESS);
  EXPECT_EQ(word, 6u);
  EXPECT_EQ(Through().cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(HooksContextTest, TheDaemonHearsOfTheFirstContextOnly) {
  EXPECT_TRUE(daemon().Await<wire::ContextMade>());
  const CUcontext context = Make(Through());
  EXPECT_EQ(Through().cuCtxDestroy_v2(context), CUDA_SUCCESS);
  EXPECT_FALSE(daemon().Has<wire::ContextMade>());
}

}  // namespace
}  // namespace reveza::interpose::testing
