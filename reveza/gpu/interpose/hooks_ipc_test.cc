// Hooks of legacy CUDA IPC: same results with and without the library.
#include <gtest/gtest.h>

#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace hooks_ipc_test {

using HooksIpcTest = DifferentialTest;

constexpr unsigned kFlags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

TEST_F(HooksIpcTest, HandlesFollowTheDriversRules) {
  Compare([](Pass& pass) {
    const CUdeviceptr large = pass.Allocate(3 * kMiB);
    const CUdeviceptr small = pass.Allocate(1000);
    pass.Fill(large, 5, 3 * kMiB / 4);
    pass.Fill(small, 6, 250);
    CUipcMemHandle handle{};
    CUipcMemHandle middle{};
    CUdeviceptr opened = 0;
    pass.SwapOut();
    pass.Note("nowhere to write", pass.cuda.cuIpcGetMemHandle(nullptr, large));
    pass.Note("of no memory", pass.cuda.cuIpcGetMemHandle(&handle, 0x1234'5000));
    pass.Note("of small memory", pass.cuda.cuIpcGetMemHandle(&handle, small));
    pass.Note("of large memory", pass.cuda.cuIpcGetMemHandle(&handle, large));
    pass.Note("of its middle", pass.cuda.cuIpcGetMemHandle(&middle, large + 4096));
    pass.Note("is the same", std::equal(std::begin(handle.reserved), std::end(handle.reserved),
                                        std::begin(middle.reserved)));
    pass.Note("open one's own", pass.cuda.cuIpcOpenMemHandle_v2(&opened, handle, kFlags));
    pass.Note("with wrong flags", pass.cuda.cuIpcOpenMemHandle_v2(&opened, handle, 2));
    pass.Note("to nowhere", pass.cuda.cuIpcOpenMemHandle_v2(nullptr, handle, kFlags));
    pass.Note("close one's own", pass.cuda.cuIpcCloseMemHandle(large));
    pass.Note("close nothing", pass.cuda.cuIpcCloseMemHandle(0x1234'5000));
    pass.SwapOut();
    pass.NoteWord("large", large + 3 * kMiB - 4);
    pass.NoteWord("small", small + 996);
    pass.Note("free", pass.cuda.cuMemFree_v2(large));
    pass.Note("of freed memory", pass.cuda.cuIpcGetMemHandle(&handle, large));
    pass.Note("free", pass.cuda.cuMemFree_v2(small));
  });
}

TEST_F(HooksIpcTest, MappedHandlesAreNotShared) {
  Compare([](Pass& pass) {
    const CUmemAllocationProp properties = Pass::Properties();
    const CUmemAccessDesc access = Pass::ReadWrite();
    CUmemGenericAllocationHandle memory = 0;
    CUdeviceptr address = 0;
    CUipcMemHandle handle{};
    pass.Note("create", pass.cuda.cuMemCreate(&memory, 2 * kMiB, &properties, 0));
    pass.Note("reserve", pass.cuda.cuMemAddressReserve(&address, 2 * kMiB, 0, 0, 0));
    pass.Note("map", pass.cuda.cuMemMap(address, 2 * kMiB, 0, memory, 0));
    pass.Note("access", pass.cuda.cuMemSetAccess(address, 2 * kMiB, &access, 1));
    pass.Note("share", pass.cuda.cuIpcGetMemHandle(&handle, address));
    pass.Note("unmap", pass.cuda.cuMemUnmap(address, 2 * kMiB));
    pass.Note("free", pass.cuda.cuMemAddressFree(address, 2 * kMiB));
    pass.Note("release", pass.cuda.cuMemRelease(memory));
  });
}

// It is copied into a handle that can be exported, for which the GPU must be idle.
TEST_F(HooksIpcTest, SharingDuringACaptureIsRefusedAndKeepsItValid) {
  CUdeviceptr address = 0;
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUipcMemHandle handle{};
  ASSERT_EQ(Through().cuMemAlloc_v2(&address, 3 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  EXPECT_EQ(Through().cuIpcGetMemHandle(&handle, address), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Through().cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  Through().cuGraphDestroy(graph);
  EXPECT_EQ(Through().cuIpcGetMemHandle(&handle, address), CUDA_SUCCESS);
  EXPECT_EQ(usage().pinned, 4 * kMiB);
  EXPECT_EQ(Through().cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(HooksIpcTest, MemoryOfTheDriverIsSharedByTheDriver) {
  CUdeviceptr address = 0;
  CUipcMemHandle handle{};
  ASSERT_EQ(Direct().cuMemAlloc_v2(&address, 3 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuIpcGetMemHandle(&handle, address), CUDA_SUCCESS);
  EXPECT_FALSE(IsTicket(handle));
  EXPECT_EQ(Through().cuMemFree_v2(address), CUDA_SUCCESS);
}

}  // namespace hooks_ipc_test
}  // namespace reveza::interpose::testing
