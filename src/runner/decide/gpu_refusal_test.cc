#include "runner/decide/gpu_refusal.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

TEST(GpuRefusal, FindsTheLastLineThatSaysSo) {
  EXPECT_EQ(FindGpuRefusal("Traceback\ntorch.OutOfMemoryError: CUDA out of memory. Tried to "
                           "allocate 2 GiB\nbye\n"),
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB");
  EXPECT_EQ(FindGpuRefusal("CUDA_ERROR_OUT_OF_MEMORY 1\nCUDA_ERROR_OUT_OF_MEMORY 2"),
            "CUDA_ERROR_OUT_OF_MEMORY 2");
  EXPECT_EQ(FindGpuRefusal("RESOURCE_EXHAUSTED: Out of memory while trying to allocate"),
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate");
}

TEST(GpuRefusal, OtherWordsAreNone) {
  for (const char* text : {"", "\n", "\n\n", "out of memory", "std::bad_alloc\nKilled\n"}) {
    EXPECT_EQ(FindGpuRefusal(text), std::nullopt) << text;
  }
}

TEST(GpuRefusal, IsShortened) {
  const std::string line = "CUDA out of memory " + std::string(5000, 'x');
  EXPECT_EQ(FindGpuRefusal(line)->size(), 200);
}

}  // namespace
}  // namespace reveza::runner
