// Hooks of virtual memory management: same results with and without the library.
#include <gtest/gtest.h>
#include <unistd.h>

#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace hooks_handles_test {

using HooksHandlesTest = DifferentialTest;
using Handle = CUmemGenericAllocationHandle;

constexpr Bytes kSize = 66 * kMiB;  // two pieces

// Address space with handles mapped into it.
class Space {
 public:
  Space(Pass& pass, Bytes size) : pass_(pass), size_(size) {
    EXPECT_EQ(pass.cuda.cuMemAddressReserve(&base_, size, 0, 0, 0), CUDA_SUCCESS);
    pass.AddKnownRange(base_, size);
  }
  ~Space() { EXPECT_EQ(pass_.cuda.cuMemAddressFree(base_, size_), CUDA_SUCCESS); }
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  CUdeviceptr at(Bytes offset = 0) const { return base_ + offset; }
  Bytes size() const { return size_; }

 private:
  Pass& pass_;
  Bytes size_;
  CUdeviceptr base_ = 0;
};

Handle Create(Pass& pass, Bytes size) {
  Handle handle = 0;
  const CUmemAllocationProp properties = Pass::Properties();
  EXPECT_EQ(pass.cuda.cuMemCreate(&handle, size, &properties, 0), CUDA_SUCCESS);
  return handle;
}

CUresult Allow(Pass& pass, CUdeviceptr address, Bytes size) {
  const CUmemAccessDesc access = Pass::ReadWrite();
  return pass.cuda.cuMemSetAccess(address, size, &access, 1);
}

void MapAll(Pass& pass, CUdeviceptr address, Bytes size, Handle handle) {
  EXPECT_EQ(pass.cuda.cuMemMap(address, size, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(Allow(pass, address, size), CUDA_SUCCESS);
}

TEST_F(HooksHandlesTest, CreateRejectsWhatTheDriverRejects) {
  Compare([](Pass& pass) {
    Handle handle = 0;
    CUmemAllocationProp properties = Pass::Properties();
    const auto create = [&](const char* what, Bytes size, unsigned long long flags = 0) {
      const CUresult result = pass.cuda.cuMemCreate(&handle, size, &properties, flags);
      pass.Note(what, result);
      if (result == CUDA_SUCCESS) pass.Note(what, pass.cuda.cuMemRelease(handle));
    };
    create("good", kSize);
    create("size 0", 0);
    create("not in granules", kMiB);
    create("flags", kSize, 1);
    create("more than any card", Bytes{1} << 50);
    create("-2 MiB", ~Bytes{0} - 2 * kMiB + 1);
    pass.Note("no properties", pass.cuda.cuMemCreate(&handle, kSize, nullptr, 0));
    pass.Note("nowhere to write", pass.cuda.cuMemCreate(nullptr, kSize, &properties, 0));
    properties.location.id = 99;
    create("a device that is not there", kSize);
    properties = Pass::Properties();
    properties.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    create("nowhere", kSize);
    properties = Pass::Properties();
    properties.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    create("of no type", kSize);
    properties = Pass::Properties();
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
    create("of another system", kSize);
  });
}

TEST_F(HooksHandlesTest, HandlesAreCounted) {
  Compare([](Pass& pass) {
    pass.Note("0", pass.cuda.cuMemRelease(0));
    Handle handle = Create(pass, kSize);
    pass.SwapOut();
    CUmemAllocationProp properties{};
    pass.Note("properties", pass.cuda.cuMemGetAllocationPropertiesFromHandle(&properties, handle));
    pass.Note("type", properties.type);
    pass.Note("handle types", properties.requestedHandleTypes);
    pass.Note("location", static_cast<std::uint64_t>(properties.location.id));
    pass.Note("nowhere to write",
              pass.cuda.cuMemGetAllocationPropertiesFromHandle(nullptr, handle));
    pass.Note("release", pass.cuda.cuMemRelease(handle));
    pass.Note("twice", pass.cuda.cuMemRelease(handle));
  });
}

TEST_F(HooksHandlesTest, ReleasedHandlesAreRejected) {
  // The driver itself may still succeed.
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties = Pass::Properties();
  ASSERT_EQ(Through().cuMemCreate(&handle, kSize, &properties, 0), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuMemGetAllocationPropertiesFromHandle(&properties, handle),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(HooksHandlesTest, MapRejectsWhatTheDriverRejects) {
  Compare([](Pass& pass) {
    const Handle handle = Create(pass, kSize);
    {
      const Space space(pass, 2 * kSize);
      const auto map = [&](const char* what, CUdeviceptr address, Bytes size, Bytes offset,
                           Handle which, unsigned long long flags = 0) {
        pass.Note(what, pass.cuda.cuMemMap(address, size, offset, which, flags));
      };
      map("at an offset", space.at(), kSize - 2 * kMiB, 2 * kMiB, handle);
      map("no size", space.at(), 0, 0, handle);
      map("flags", space.at(), kSize, 0, handle, 1);
      map("no handle", space.at(), kSize, 0, 0);
      map("at an odd address", space.at(4096), kSize, 0, handle);
      map("more than there is", space.at(), kSize + 2 * kMiB, 0, handle);
      pass.AwaitSwapIn();
      map("where nothing is reserved", 0x7000'0000'0000, kSize, 0, handle);
      map("good", space.at(), kSize, 0, handle);
      pass.SwapOut();
      map("where it is mapped", space.at(), kSize, 0, handle);
      map("half on what is mapped", space.at(2 * kMiB), kSize, 0, handle);
      map("beside itself", space.at(kSize), kSize, 0, handle);
      pass.Note("unmap both", pass.cuda.cuMemUnmap(space.at(), 2 * kSize));
    }
    EXPECT_EQ(pass.cuda.cuMemRelease(handle), CUDA_SUCCESS);
  });
}

TEST_F(HooksHandlesTest, UnmapAcceptsWholeMappingsOnly) {
  Compare([](Pass& pass) {
    const Space space(pass, 3 * kSize);
    pass.Note("nothing mapped", pass.cuda.cuMemUnmap(space.at(), kSize));
    const Handle handle = Create(pass, kSize);
    MapAll(pass, space.at(), kSize, handle);
    MapAll(pass, space.at(2 * kSize), kSize, handle);
    pass.SwapOut();
    pass.Note("a part", pass.cuda.cuMemUnmap(space.at(), 2 * kMiB));
    pass.Note("the end", pass.cuda.cuMemUnmap(space.at(kSize - 2 * kMiB), 2 * kMiB));
    pass.Note("a piece of ours", pass.cuda.cuMemUnmap(space.at(), 64 * kMiB));
    pass.Note("no size", pass.cuda.cuMemUnmap(space.at(), 0));
    pass.Note("with a hole in it", pass.cuda.cuMemUnmap(space.at(), 3 * kSize));
    pass.Note("whole", pass.cuda.cuMemUnmap(space.at(), kSize));
    pass.Note("twice", pass.cuda.cuMemUnmap(space.at(), kSize));
    pass.Note("the other", pass.cuda.cuMemUnmap(space.at(2 * kSize), kSize));
    EXPECT_EQ(pass.cuda.cuMemRelease(handle), CUDA_SUCCESS);
  });
}

TEST_F(HooksHandlesTest, ContentsBelongToTheHandle) {
  Compare([](Pass& pass) {
    const Space space(pass, 2 * kSize);
    const Handle handle = Create(pass, kSize);
    MapAll(pass, space.at(), kSize, handle);
    pass.Fill(space.at(), 7, kSize / 4);
    pass.SwapOut();
    MapAll(pass, space.at(kSize), kSize, handle);
    pass.NoteWord("seen through another mapping", space.at(2 * kSize - 4));
    pass.Fill(space.at(kSize), 8, 1);
    pass.NoteWord("written through another mapping", space.at());
    pass.Note("unmap both", pass.cuda.cuMemUnmap(space.at(), 2 * kSize));
    pass.SwapOut();
    MapAll(pass, space.at(), kSize, handle);
    pass.NoteWord("kept without a mapping", space.at());
    pass.Note("release while mapped", pass.cuda.cuMemRelease(handle));
    pass.SwapOut();
    pass.NoteWord("lives on", space.at(4));
    pass.Note("unmap", pass.cuda.cuMemUnmap(space.at(), kSize));
  });
}

TEST_F(HooksHandlesTest, RetainReturnsTheHandleOfAnAddress) {
  Compare([](Pass& pass) {
    const Space space(pass, 2 * kSize);
    const Handle handle = Create(pass, kSize);
    MapAll(pass, space.at(), kSize, handle);
    const CUdeviceptr allocation = pass.Allocate(4 * kMiB);
    pass.SwapOut();
    Handle retained = 0;
    const auto retain = [&](const char* what, CUdeviceptr address, Handle* into) {
      return pass.Note(
          what, pass.cuda.cuMemRetainAllocationHandle(into, reinterpret_cast<void*>(address)));
    };
    retain("where nothing is mapped", space.at(kSize), &retained);
    retain("nowhere", 0x1234'5000, &retained);
    retain("of an allocation", allocation, &retained);
    retain("nowhere to write", space.at(), nullptr);
    retain("in the middle", space.at(kSize / 2 + 3), &retained);
    pass.Note("unmap", pass.cuda.cuMemUnmap(space.at(), kSize));
    pass.Note("the first reference", pass.cuda.cuMemRelease(handle));
    pass.Note("still maps", pass.cuda.cuMemMap(space.at(kSize), kSize, 0, retained, 0));
    pass.Note("the second reference", pass.cuda.cuMemRelease(retained));
    pass.Note("a third", pass.cuda.cuMemRelease(retained));
    pass.Note("unmap", pass.cuda.cuMemUnmap(space.at(kSize), kSize));
    pass.cuda.cuMemFree_v2(allocation);
  });
}

TEST_F(HooksHandlesTest, AccessIsPerRangeAndSurvivesSwapping) {
  Compare([](Pass& pass) {
    const Space space(pass, 2 * kSize);
    const Handle handle = Create(pass, kSize);
    CUmemAccessDesc access = Pass::ReadWrite();
    const auto flags = [&](const char* what, CUdeviceptr address) {
      unsigned long long found = 99;
      pass.Note(what, pass.cuda.cuMemGetAccess(&found, &access.location, address));
      pass.Note(what, found);
    };
    pass.Note("before anything is mapped", Allow(pass, space.at(), kSize));
    EXPECT_EQ(pass.cuda.cuMemMap(space.at(), kSize, 0, handle, 0), CUDA_SUCCESS);
    flags("not set yet", space.at());
    pass.SwapOut();
    pass.Note("no description", pass.cuda.cuMemSetAccess(space.at(), kSize, nullptr, 1));
    pass.Note("none of them", pass.cuda.cuMemSetAccess(space.at(), kSize, &access, 0));
    pass.Note("no size", pass.cuda.cuMemSetAccess(space.at(), 0, &access, 1));
    pass.Note("more than is mapped", Allow(pass, space.at(), 2 * kSize));
    access.location.id = 99;
    pass.Note("a device that is not there",
              pass.cuda.cuMemSetAccess(space.at(), kSize, &access, 1));
    access = Pass::ReadWrite();
    access.flags = static_cast<CUmemAccess_flags>(7);
    pass.Note("flags", pass.cuda.cuMemSetAccess(space.at(), kSize, &access, 1));
    pass.Note("an odd size", Allow(pass, space.at(), kMiB));
    access = Pass::ReadWrite();
    pass.Note("good", Allow(pass, space.at(), kSize));
    pass.SwapOut();
    flags("set", space.at(kSize - 1));
    flags("where nothing is mapped", space.at(kSize));
    unsigned long long found = 0;
    pass.Note("nowhere to write", pass.cuda.cuMemGetAccess(nullptr, &access.location, space.at()));
    pass.Note("of no location", pass.cuda.cuMemGetAccess(&found, nullptr, space.at()));
    pass.Fill(space.at(), 5, 1);
    pass.NoteWord("usable", space.at());
    EXPECT_EQ(pass.cuda.cuMemUnmap(space.at(), kSize), CUDA_SUCCESS);
    EXPECT_EQ(pass.cuda.cuMemRelease(handle), CUDA_SUCCESS);
  });
}

TEST_F(HooksHandlesTest, ReservationsWithMappingsCannotBeFreed) {
  Compare([](Pass& pass) {
    const Space space(pass, kSize);
    const Handle handle = Create(pass, kSize);
    MapAll(pass, space.at(), kSize, handle);
    pass.SwapOut();
    pass.Note("mapped", pass.cuda.cuMemAddressFree(space.at(), kSize));
    EXPECT_EQ(pass.cuda.cuMemUnmap(space.at(), kSize), CUDA_SUCCESS);
    EXPECT_EQ(pass.cuda.cuMemRelease(handle), CUDA_SUCCESS);
    pass.Note("a part", pass.cuda.cuMemAddressFree(space.at(), 2 * kMiB));
    pass.Note("nothing reserved", pass.cuda.cuMemAddressFree(0x7000'0000'0000, kSize));
  });
}

TEST_F(HooksHandlesTest, ExportSharesTheSameMemory) {
  Compare([](Pass& pass) {
    const Space space(pass, 2 * kSize);
    const Handle handle = Create(pass, kSize);
    MapAll(pass, space.at(), kSize, handle);
    pass.Fill(space.at(), 7, kSize / 4);
    pass.SwapOut();
    int file = -1;
    const auto type = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    pass.Note("nowhere to write", pass.cuda.cuMemExportToShareableHandle(nullptr, handle, type, 0));
    pass.Note("of another system",
              pass.cuda.cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_WIN32, 0));
    pass.Note("flags", pass.cuda.cuMemExportToShareableHandle(&file, handle, type, 1));
    pass.Note("no handle", pass.cuda.cuMemExportToShareableHandle(&file, 0, type, 0));
    pass.Note("good", pass.cuda.cuMemExportToShareableHandle(&file, handle, type, 0));
    Handle imported = 0;
    pass.Note("import", pass.cuda.cuMemImportFromShareableHandle(
                            &imported, reinterpret_cast<void*>(std::intptr_t{file}), type));
    close(file);
    pass.Note("map", pass.cuda.cuMemMap(space.at(kSize), kSize, 0, imported, 0));
    pass.Note("allow", Allow(pass, space.at(kSize), kSize));
    pass.NoteWord("the same memory", space.at(2 * kSize - 4));
    pass.Fill(space.at(kSize), 9, 1);
    pass.NoteWord("both ways", space.at());
    pass.Note("unmap", pass.cuda.cuMemUnmap(space.at(), kSize));
    pass.Note("unmap the import", pass.cuda.cuMemUnmap(space.at(kSize), kSize));
    pass.Note("release", pass.cuda.cuMemRelease(handle));
    pass.Note("release the import", pass.cuda.cuMemRelease(imported));
  });
}

// ---- behaviour specific to the library ----

TEST_F(HooksHandlesTest, ExportedMemoryStaysResident) {
  const CUmemAllocationProp properties = Pass::Properties();
  Handle handle = 0;
  ASSERT_EQ(Through().cuMemCreate(&handle, kSize, &properties, 0), CUDA_SUCCESS);
  EXPECT_TRUE(swap::Ledger::IsOurHandle(handle));
  EXPECT_EQ(usage().resident, kSize);
  int file = -1;
  ASSERT_EQ(Through().cuMemExportToShareableHandle(&file, handle,
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(usage().pinned, kSize);
  EXPECT_FALSE(daemon().CloseGate());
  EXPECT_EQ(daemon().Evict().copied, 0u);
  EXPECT_EQ(usage().pinned, kSize);
  EXPECT_EQ(Through().cuMemRelease(handle), CUDA_SUCCESS);
  close(file);
}

}  // namespace hooks_handles_test
}  // namespace reveza::interpose::testing
