// Hooks of the cuMemAlloc family: same results with and without the library.
#include <gtest/gtest.h>

#include <thread>

#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace hooks_memory_test {

using HooksMemoryTest = DifferentialTest;

constexpr Bytes kLarge = 3 * kMiB;

TEST_F(HooksMemoryTest, AllocateRejectsWhatTheDriverRejects) {
  Compare([](Pass& pass) {
    CUdeviceptr address = 0;
    pass.Note("size 0", pass.cuda.cuMemAlloc_v2(&address, 0));
    pass.Note("nowhere to write", pass.cuda.cuMemAlloc_v2(nullptr, 4096));
    pass.Note("nothing at all", pass.cuda.cuMemAlloc_v2(nullptr, 0));
    pass.Note("more than any card", pass.cuda.cuMemAlloc_v2(&address, 1ull << 60));
    const CUdeviceptr other = pass.Allocate(kLarge);
    pass.Note("-1 bytes", pass.cuda.cuMemAlloc_v2(&address, ~std::size_t{0}));
    pass.Note("-3 MiB", pass.cuda.cuMemAlloc_v2(&address, ~std::size_t{0} - 3 * kMiB + 1));
    pass.cuda.cuMemFree_v2(other);
    pass.NoteAddress("what was written", address);
    CUcontext context = nullptr;
    pass.cuda.cuCtxPopCurrent_v2(&context);
    pass.Note("without a context", pass.cuda.cuMemAlloc_v2(&address, 4096));
    pass.Note("free without a context", pass.cuda.cuMemFree_v2(0));
    pass.cuda.cuCtxPushCurrent_v2(context);
  });
}

void NoteMemoryCalls(Pass& pass, CUdeviceptr large, CUdeviceptr small) {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  const CUmemAllocationProp properties = Pass::Properties();
  CUmemGenericAllocationHandle handle = 0;
  pass.Note("allocate", pass.cuda.cuMemAlloc_v2(&address, kLarge));
  pass.Note("allocate little", pass.cuda.cuMemAlloc_v2(&address, 100));
  pass.Note("allocate 0", pass.cuda.cuMemAlloc_v2(&address, 0));
  pass.Note("allocate rows", pass.cuda.cuMemAllocPitch_v2(&address, &size, 100, 10, 4));
  pass.Note("from a pool", pass.cuda.cuMemAllocAsync(&address, kLarge, nullptr));
  pass.Note("managed", pass.cuda.cuMemAllocManaged(&address, kLarge, CU_MEM_ATTACH_GLOBAL));
  pass.Note("info", pass.cuda.cuMemGetInfo_v2(&size, &size));
  pass.Note("range", pass.cuda.cuMemGetAddressRange_v2(&address, &size, large));
  pass.Note("range of little", pass.cuda.cuMemGetAddressRange_v2(&address, &size, small));
  pass.Note("attribute",
            pass.cuda.cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, large));
  pass.Note("handle", pass.cuda.cuMemCreate(&handle, 2 * kMiB, &properties, 0));
  pass.Note("release", pass.cuda.cuMemRelease(handle));
  pass.Note("free of nothing", pass.cuda.cuMemFree_v2(0));
  pass.Note("free in the middle", pass.cuda.cuMemFree_v2(large + kMiB));
}

TEST_F(HooksMemoryTest, DestroyedCurrentContextIsRefused) {
  Compare([](Pass& pass) {
    const CUdeviceptr large = pass.Allocate(kLarge);
    const CUdeviceptr small = pass.Allocate(1000);
    CUcontext context = nullptr;
    ASSERT_EQ(pass.cuda.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    std::thread([&] { ASSERT_EQ(pass.cuda.cuCtxDestroy_v2(context), CUDA_SUCCESS); }).join();
    pass.SwapOut();
    NoteMemoryCalls(pass, large, small);
    pass.Note("free", pass.cuda.cuMemFree_v2(large));
    pass.Note("free of little", pass.cuda.cuMemFree_v2(small));
    EXPECT_EQ(pass.cuda.cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
    pass.Note("free in another context", pass.cuda.cuMemFree_v2(large));
    pass.Note("free of little in another context", pass.cuda.cuMemFree_v2(small));
  });
}

TEST_F(HooksMemoryTest, FreeNeedsNoCurrentContext) {
  Compare([](Pass& pass) {
    const CUdeviceptr large = pass.Allocate(kLarge);
    const CUdeviceptr small = pass.Allocate(1000);
    CUcontext context = nullptr;
    EXPECT_EQ(pass.cuda.cuCtxPopCurrent_v2(&context), CUDA_SUCCESS);
    pass.SwapOut();
    NoteMemoryCalls(pass, large, small);
    pass.Note("free", pass.cuda.cuMemFree_v2(large));
    pass.Note("free of little", pass.cuda.cuMemFree_v2(small));
    EXPECT_EQ(pass.cuda.cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
  });
}

TEST_F(HooksMemoryTest, PitchFollowsTheDriversRules) {
  Compare([](Pass& pass) {
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    const auto ask = [&](const char* what, std::size_t width, std::size_t height, unsigned each) {
      pitch = 0;
      const CUresult result =
          pass.Note(what, pass.cuda.cuMemAllocPitch_v2(&address, &pitch, width, height, each));
      if (result != CUDA_SUCCESS) return;
      pass.Note(what, pitch);
      pass.AddKnownRange(address, pitch * height);
      pass.Fill(address + pitch * (height - 1), 7, width / 4);
      pass.NoteWord(what, address + pitch * (height - 1));
      pass.Note(what, pass.cuda.cuMemFree_v2(address));
    };
    for (const unsigned each : {4u, 8u, 16u}) ask("a good element", 1000, 10, each);
    ask("a whole pitch", 512, 3, 4);
    ask("a large one", 1 << 20, 5, 4);
    for (const unsigned each : {0u, 1u, 2u, 3u, 12u, 32u}) ask("a bad element", 100, 10, each);
    ask("no width", 0, 10, 4);
    ask("no height", 10, 0, 4);
    ask("more rows than there can be", 512, std::size_t{1} << 55, 4);
    ask("more than any card", 1 << 20, std::size_t{1} << 30, 4);
    pass.Note("no address", pass.cuda.cuMemAllocPitch_v2(nullptr, &pitch, 100, 10, 4));
    pass.Note("no pitch", pass.cuda.cuMemAllocPitch_v2(&address, nullptr, 100, 10, 4));
  });
}

TEST_F(HooksMemoryTest, FreeRejectsWhatTheDriverRejects) {
  Compare([](Pass& pass) {
    const CUdeviceptr small = pass.Allocate(1000);
    const CUdeviceptr neighbour = pass.Allocate(1000);
    const CUdeviceptr large = pass.Allocate(kLarge);
    pass.SwapOut();
    pass.Note("0", pass.cuda.cuMemFree_v2(0));
    pass.Note("never allocated", pass.cuda.cuMemFree_v2(0x1234500));
    pass.Note("in the middle of a small one", pass.cuda.cuMemFree_v2(small + 512));
    pass.Note("in the middle of a large one", pass.cuda.cuMemFree_v2(large + kMiB));
    pass.Note("one byte in", pass.cuda.cuMemFree_v2(large + 1));
    pass.Note("small", pass.cuda.cuMemFree_v2(small));
    pass.Note("small twice", pass.cuda.cuMemFree_v2(small));
    pass.Note("large", pass.cuda.cuMemFree_v2(large));
    pass.Note("large twice", pass.cuda.cuMemFree_v2(large));
    pass.Note("neighbour", pass.cuda.cuMemFree_v2(neighbour));
    int on_the_host = 0;
    pass.Note("of the host", pass.cuda.cuMemFree_v2(reinterpret_cast<CUdeviceptr>(&on_the_host)));
  });
}

TEST_F(HooksMemoryTest, ContentsSurviveSwapping) {
  Compare([](Pass& pass) {
    const CUdeviceptr small = pass.Allocate(4096);
    const CUdeviceptr large = pass.Allocate(70 * kMiB);
    pass.Fill(small, 11, 1024);
    pass.Fill(large, 22, 70 * kMiB / 4);
    pass.SwapOut();
    const CUdeviceptr later = pass.Allocate(kLarge);
    pass.NoteWord("small", small + 4092);
    pass.NoteWord("at the end of a piece", large + 64 * kMiB - 4);
    pass.NoteWord("at the beginning of the next", large + 64 * kMiB);
    pass.Fill(later, 33, kLarge / 4);
    pass.SwapOut();
    pass.NoteWord("allocated while out", later + kLarge - 4);
    for (const CUdeviceptr address : {small, large, later}) pass.cuda.cuMemFree_v2(address);
  });
}

TEST_F(HooksMemoryTest, AddressRangesMatchAllocations) {
  Compare([](Pass& pass) {
    const CUdeviceptr small = pass.Allocate(1000);
    const CUdeviceptr large = pass.Allocate(kLarge + 5);
    pass.SwapOut();
    const auto ask = [&](const char* what, CUdeviceptr address) {
      CUdeviceptr base = 0;
      std::size_t size = 0;
      pass.Note(what, pass.cuda.cuMemGetAddressRange_v2(&base, &size, address));
      pass.NoteAddress(what, base);
      pass.Note(what, size);
    };
    ask("small", small);
    ask("last byte of small", small + 999);
    ask("large", large);
    ask("in the middle of large", large + kMiB + 3);
    ask("last byte of large", large + kLarge + 4);
    ask("behind large", large + kLarge + 5);
    ask("in the hole behind small", small + 1024);
    ask("nowhere", 0x1234500);
    ask("0", 0);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    pass.Note("the base alone", pass.cuda.cuMemGetAddressRange_v2(&base, nullptr, large + 9));
    pass.NoteAddress("the base alone", base);
    pass.Note("the size alone", pass.cuda.cuMemGetAddressRange_v2(nullptr, &size, large + 9));
    pass.Note("the size alone", size);
    pass.Note("neither", pass.cuda.cuMemGetAddressRange_v2(nullptr, nullptr, large));
    pass.cuda.cuMemFree_v2(small);
    pass.cuda.cuMemFree_v2(large);
    ask("freed small", small);
    ask("freed large", large);
  });
}

TEST_F(HooksMemoryTest, FreeMemoryDropsByAllocatedSize) {
  Compare([](Pass& pass) {
    std::size_t before = 0, during = 0, after = 0, total = 0, again = 0;
    pass.Note("info", pass.cuda.cuMemGetInfo_v2(&before, &total));
    const CUdeviceptr address = pass.Allocate(8 * kMiB);
    pass.SwapOut();
    pass.cuda.cuMemGetInfo_v2(&during, &again);
    pass.Note("allocated", before - during);
    pass.cuda.cuMemFree_v2(address);
    pass.cuda.cuMemGetInfo_v2(&after, &again);
    pass.Note("freed", after - during);
    pass.Note("the total stays", again == total);
    pass.Note("no free", pass.cuda.cuMemGetInfo_v2(nullptr, &total));
    pass.Note("no total", pass.cuda.cuMemGetInfo_v2(&after, nullptr));
  });
}

// ---- deliberate differences of the library ----

TEST_F(HooksMemoryTest, BudgetIsReportedAsTotal) {
  CUdeviceptr address = 0;
  EXPECT_EQ(Through().cuMemAlloc_v2(&address, kBudget), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(Through().cuMemAlloc_v2(&address, kBudget - 4 * kMiB), CUDA_SUCCESS);
  std::size_t free = 0, total = 0;
  EXPECT_EQ(Through().cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
  EXPECT_LE(free, 4 * kMiB);
  EXPECT_EQ(Through().cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(HooksMemoryTest, DaemonRefusalIsOutOfMemory) {
  client().ledger().TakeSpare(0, 0);
  daemon().AnswerGrowth(wire::Growth::kRefused);
  CUdeviceptr address = 0;
  EXPECT_EQ(Through().cuMemAlloc_v2(&address, 32 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(usage().resident, 0u);
  daemon().AnswerGrowth(wire::Growth::kGranted);
  EXPECT_EQ(Through().cuMemAlloc_v2(&address, 32 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuMemFree_v2(address), CUDA_SUCCESS);
}

// Memory freed during a capture must not be reused yet: that would need a synchronisation.
TEST_F(HooksMemoryTest, FreeInACaptureIsDeferred) {
  CUdeviceptr address = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&address, kLarge), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(Through().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(Through().cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(usage().resident, 4 * kMiB) << "not freed yet";
  CUgraph graph = nullptr;
  ASSERT_EQ(Through().cuStreamEndCapture(stream, &graph), CUDA_SUCCESS)
      << "capture was invalidated";
  CUdeviceptr next = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&next, kLarge), CUDA_SUCCESS);
  EXPECT_EQ(usage().resident, 4 * kMiB) << "only the later allocation";
  EXPECT_EQ(Through().cuMemFree_v2(next), CUDA_SUCCESS);
  Through().cuGraphDestroy(graph);
  Through().cuStreamDestroy_v2(stream);
}

}  // namespace hooks_memory_test
}  // namespace reveza::interpose::testing
