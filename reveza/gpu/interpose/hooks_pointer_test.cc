// Hooks of pointer queries: same results with and without the library.
#include <gtest/gtest.h>

#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "reveza/gpu/interpose/testing/differential.h"

namespace reveza::interpose::testing {
namespace hooks_pointer_test {

using HooksPointerTest = DifferentialTest;

struct Question {
  CUpointer_attribute attribute;
  const char* name;
  // kAddress: compared as an offset into a known range. kNumber: compared. kAny: only the size is.
  enum { kAddress, kNumber, kAny } answer;
};

constexpr Question kQuestions[] = {
    {CU_POINTER_ATTRIBUTE_CONTEXT, "context", Question::kNumber},
    {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "memory type", Question::kNumber},
    {CU_POINTER_ATTRIBUTE_DEVICE_POINTER, "device pointer", Question::kAddress},
    {CU_POINTER_ATTRIBUTE_HOST_POINTER, "host pointer", Question::kAddress},
    {CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, "sync memops", Question::kNumber},
    {CU_POINTER_ATTRIBUTE_BUFFER_ID, "buffer id", Question::kAny},
    {CU_POINTER_ATTRIBUTE_IS_MANAGED, "is managed", Question::kNumber},
    {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, "device ordinal", Question::kNumber},
    {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, "range start", Question::kAddress},
    {CU_POINTER_ATTRIBUTE_RANGE_SIZE, "range size", Question::kNumber},
    {CU_POINTER_ATTRIBUTE_MAPPED, "mapped", Question::kNumber},
    {CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, "handle types", Question::kNumber},
    // Differs from the driver: memory that another device reads directly cannot be swapped.
    {CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, "rdma capable", Question::kAny},
    {CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, "access flags", Question::kNumber},
    {CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, "pool", Question::kNumber},
    {CU_POINTER_ATTRIBUTE_MAPPING_SIZE, "mapping size", Question::kNumber},
    {CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, "mapping base", Question::kAddress},
    {CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, "block id", Question::kAny},
};

// The result and the number of bytes written, which must not exceed what the driver writes.
void NoteAnswer(Pass& pass, const std::string& what, const Question& question, const void* data) {
  unsigned char bytes[16];
  std::memcpy(bytes, data, sizeof(bytes));
  std::size_t written = sizeof(bytes);
  while (written > 0 && bytes[written - 1] == 0xa5) --written;
  pass.Note((what + ", bytes").c_str(), written);
  std::uint64_t value = 0;
  std::memcpy(&value, bytes, std::min<std::size_t>(written, sizeof(value)));
  if (question.answer == Question::kAddress) pass.NoteAddress(what.c_str(), value);
  if (question.answer == Question::kNumber) pass.Note(what.c_str(), value);
}

void AskOne(Pass& pass, const char* pointer, CUdeviceptr address) {
  for (const Question& question : kQuestions) {
    const std::string what = std::string(pointer) + ", " + question.name;
    unsigned char data[16];
    std::memset(data, 0xa5, sizeof(data));
    pass.Note(what.c_str(), pass.cuda.cuPointerGetAttribute(data, question.attribute, address));
    NoteAnswer(pass, what, question, data);
  }
}

void AskAll(Pass& pass, const char* pointer, CUdeviceptr address) {
  std::vector<CUpointer_attribute> attributes;
  unsigned char data[std::size(kQuestions)][16];
  void* places[std::size(kQuestions)];
  std::memset(data, 0xa5, sizeof(data));
  for (std::size_t i = 0; i < std::size(kQuestions); ++i) {
    attributes.push_back(kQuestions[i].attribute);
    places[i] = data[i];
  }
  pass.Note(pointer, pass.cuda.cuPointerGetAttributes(static_cast<unsigned>(attributes.size()),
                                                      attributes.data(), places, address));
  for (std::size_t i = 0; i < std::size(kQuestions); ++i) {
    NoteAnswer(pass, std::string(pointer) + ", all, " + kQuestions[i].name, kQuestions[i], data[i]);
  }
}

void Ask(Pass& pass, const char* pointer, CUdeviceptr address) {
  AskOne(pass, pointer, address);
  AskAll(pass, pointer, address);
}

TEST_F(HooksPointerTest, AttributesOfAllocations) {
  Compare([](Pass& pass) {
    const CUdeviceptr small = pass.Allocate(1000);
    const CUdeviceptr large = pass.Allocate(4 * kMiB);
    pass.SwapOut();
    Ask(pass, "small", small);
    Ask(pass, "in the middle of small", small + 500);
    Ask(pass, "in the middle of large", large + kMiB + 1);
    EXPECT_EQ(pass.cuda.cuMemFree_v2(small), CUDA_SUCCESS);
    EXPECT_EQ(pass.cuda.cuMemFree_v2(large), CUDA_SUCCESS);
    Ask(pass, "freed", large);
  });
}

TEST_F(HooksPointerTest, AttributesPastTheEndOfAnAllocation) {
  Compare([](Pass& pass) {
    const CUdeviceptr small = pass.Allocate(1000);
    pass.SwapOut();
    for (const CUpointer_attribute attribute :
         {CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
          CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_BUFFER_ID}) {
      unsigned char data[16];
      pass.Note("in a hole", pass.cuda.cuPointerGetAttribute(data, attribute, small + 4096));
    }
    EXPECT_EQ(pass.cuda.cuMemFree_v2(small), CUDA_SUCCESS);
  });
}

TEST_F(HooksPointerTest, AttributesOfMappedHandles) {
  Compare([](Pass& pass) {
    constexpr Bytes kSize = 66 * kMiB;
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp properties = Pass::Properties();
    const CUmemAccessDesc access = Pass::ReadWrite();
    ASSERT_EQ(pass.cuda.cuMemAddressReserve(&address, 2 * kSize, 0, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(pass.cuda.cuMemCreate(&handle, kSize, &properties, 0), CUDA_SUCCESS);
    ASSERT_EQ(pass.cuda.cuMemMap(address, kSize, 0, handle, 0), CUDA_SUCCESS);
    ASSERT_EQ(pass.cuda.cuMemSetAccess(address, kSize, &access, 1), CUDA_SUCCESS);
    pass.AddKnownRange(address, 2 * kSize);
    pass.SwapOut();
    Ask(pass, "mapped", address);
    Ask(pass, "in the middle", address + 65 * kMiB);
    Ask(pass, "reserved only", address + kSize);
    EXPECT_EQ(pass.cuda.cuMemUnmap(address, kSize), CUDA_SUCCESS);
    EXPECT_EQ(pass.cuda.cuMemRelease(handle), CUDA_SUCCESS);
    EXPECT_EQ(pass.cuda.cuMemAddressFree(address, 2 * kSize), CUDA_SUCCESS);
  });
}

TEST_F(HooksPointerTest, AttributesOfForeignPointers) {
  Compare([](Pass& pass) {
    void* host = nullptr;
    ASSERT_EQ(pass.cuda.cuMemHostAlloc(&host, 4096, 0), CUDA_SUCCESS);
    pass.AddKnownRange(reinterpret_cast<CUdeviceptr>(host), 4096);
    Ask(pass, "host memory of the driver", reinterpret_cast<CUdeviceptr>(host) + 8);
    int plain = 0;
    Ask(pass, "host memory of the program", reinterpret_cast<CUdeviceptr>(&plain));
    Ask(pass, "nowhere", 0x1234'5000);
    Ask(pass, "0", 0);
    EXPECT_EQ(pass.cuda.cuMemFreeHost(host), CUDA_SUCCESS);
  });
}

TEST_F(HooksPointerTest, RejectsWhatTheDriverRejects) {
  Compare([](Pass& pass) {
    const CUdeviceptr address = pass.Allocate(4 * kMiB);
    pass.SwapOut();
    unsigned char data[16] = {};
    void* places[] = {data, data};
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    pass.Note("nowhere to write",
              pass.cuda.cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    pass.Note("none", pass.cuda.cuPointerGetAttributes(0, attributes, places, address));
    pass.Note("no attributes", pass.cuda.cuPointerGetAttributes(1, nullptr, places, address));
    pass.Note("no places", pass.cuda.cuPointerGetAttributes(1, attributes, nullptr, address));
    EXPECT_EQ(pass.cuda.cuMemFree_v2(address), CUDA_SUCCESS);
  });
}

TEST_F(HooksPointerTest, SwappableMemoryIsNotRdmaCapable) {
  CUdeviceptr address = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&address, 1000), CUDA_SUCCESS);
  int capable = 7;
  EXPECT_EQ(Through().cuPointerGetAttribute(
                &capable, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, address),
            CUDA_SUCCESS);
  EXPECT_EQ(capable, 0);
  EXPECT_EQ(Through().cuMemFree_v2(address), CUDA_SUCCESS);
}

TEST_F(HooksPointerTest, BufferIdsArePerAllocation) {
  CUdeviceptr one = 0;
  CUdeviceptr other = 0;
  ASSERT_EQ(Through().cuMemAlloc_v2(&one, 1000), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuMemAlloc_v2(&other, 1000), CUDA_SUCCESS);
  const auto id = [](CUdeviceptr address) {
    unsigned long long found = 0;
    EXPECT_EQ(Through().cuPointerGetAttribute(&found, CU_POINTER_ATTRIBUTE_BUFFER_ID, address),
              CUDA_SUCCESS);
    return found;
  };
  EXPECT_EQ(id(one), id(one + 999));
  EXPECT_NE(id(one), id(other));
  EXPECT_EQ(Through().cuMemFree_v2(one), CUDA_SUCCESS);
  EXPECT_EQ(Through().cuMemFree_v2(other), CUDA_SUCCESS);
}

}  // namespace hooks_pointer_test
}  // namespace reveza::interpose::testing
