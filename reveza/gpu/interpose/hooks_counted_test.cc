// Hooks of counted memory: same results as the driver, and accounting.
#include <gtest/gtest.h>

#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace hooks_counted_test {

using HooksCountedTest = DifferentialTest;

CUDA_ARRAY_DESCRIPTOR Array(std::size_t width, std::size_t height) {
  CUDA_ARRAY_DESCRIPTOR array{};
  array.Width = width;
  array.Height = height;
  array.Format = CU_AD_FORMAT_FLOAT;
  array.NumChannels = 1;
  return array;
}

TEST_F(HooksCountedTest, ArraysFollowTheDriversRules) {
  Compare([](Pass& pass) {
    CUarray array = nullptr;
    CUDA_ARRAY_DESCRIPTOR wanted = Array(64, 32);
    pass.Note("nowhere to write", pass.cuda.cuArrayCreate_v2(nullptr, &wanted));
    pass.Note("no description", pass.cuda.cuArrayCreate_v2(&array, nullptr));
    wanted.NumChannels = 3;
    pass.Note("three channels", pass.cuda.cuArrayCreate_v2(&array, &wanted));
    wanted = Array(0, 32);
    pass.Note("no width", pass.cuda.cuArrayCreate_v2(&array, &wanted));
    wanted = Array(64, 32);
    pass.Note("good", pass.cuda.cuArrayCreate_v2(&array, &wanted));
    pass.SwapOut();
    CUDA_ARRAY_DESCRIPTOR found{};
    pass.Note("describe", pass.cuda.cuArrayGetDescriptor_v2(&found, array));
    pass.Note("width", found.Width);
    pass.Note("height", found.Height);
    pass.Note("destroy", pass.cuda.cuArrayDestroy(array));
    pass.Note("none", pass.cuda.cuArrayDestroy(nullptr));
  });
}

TEST_F(HooksCountedTest, ManagedMemoryFollowsTheDriversRules) {
  Compare([](Pass& pass) {
    CUdeviceptr memory = 0;
    pass.Note("size 0", pass.cuda.cuMemAllocManaged(&memory, 0, CU_MEM_ATTACH_GLOBAL));
    pass.Note("nowhere to write", pass.cuda.cuMemAllocManaged(nullptr, 4096, CU_MEM_ATTACH_GLOBAL));
    pass.Note("flags", pass.cuda.cuMemAllocManaged(&memory, 4096, 99));
    pass.Note("good", pass.cuda.cuMemAllocManaged(&memory, 4096, CU_MEM_ATTACH_GLOBAL));
    *reinterpret_cast<unsigned*>(memory) = 17;
    pass.SwapOut();
    pass.NoteWord("from the host", memory);
    pass.Note("in the middle", pass.cuda.cuMemFree_v2(memory + 8));
    pass.Note("free", pass.cuda.cuMemFree_v2(memory));
    pass.Note("twice", pass.cuda.cuMemFree_v2(memory));
  });
}

// ---- accounting ----

TEST_F(HooksCountedTest, ArraysAreCountedWhileTheyLive) {
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR wanted = Array(1024, 1024);
  ASSERT_EQ(Through().cuArrayCreate_v2(&array, &wanted), CUDA_SUCCESS);
  EXPECT_EQ(usage().pinned, 4 * kMiB);
  EXPECT_EQ(Through().cuArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(usage().pinned, 0u);
}

TEST_F(HooksCountedTest, FailedCallsAreNotCounted) {
  CUarray array = nullptr;
  CUDA_ARRAY_DESCRIPTOR wanted = Array(64, 64);
  wanted.NumChannels = 3;
  EXPECT_NE(Through().cuArrayCreate_v2(&array, &wanted), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  EXPECT_NE(Through().cuMemAllocManaged(&memory, 4096, 99), CUDA_SUCCESS);
  EXPECT_EQ(usage().pinned, 0u);
}

TEST_F(HooksCountedTest, DaemonRefusalIsOutOfMemory) {
  daemon().AnswerGrowth(wire::Growth::kRefused);
  client().ledger().TakeSpare(0, 0);
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR wanted = Array(1024, 1024);
  EXPECT_EQ(Through().cuArrayCreate_v2(&array, &wanted), CUDA_ERROR_OUT_OF_MEMORY);
  CUdeviceptr memory = 0;
  EXPECT_EQ(Through().cuMemAllocManaged(&memory, 4 * kMiB, CU_MEM_ATTACH_GLOBAL),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(Through().cuMemAllocAsync(&memory, 4 * kMiB, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(usage().pinned, 0u);
}

TEST_F(HooksCountedTest, ManagedMemoryIsCountedWhileItLives) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(Through().cuMemAllocManaged(&memory, 3 * kMiB, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(usage().resident, 4 * kMiB);
  EXPECT_EQ(Through().cuMemFree_v2(memory), CUDA_SUCCESS);
  EXPECT_EQ(usage().resident, 0u);
}

}  // namespace hooks_counted_test
}  // namespace reveza::interpose::testing
