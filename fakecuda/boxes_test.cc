// Tests of 2D and 3D copies and of arrays.
#include <algorithm>
#include <cstring>
#include <vector>

#include "fakecuda/driver_fixture.h"

namespace fakecuda {
namespace boxes_test {

constexpr unsigned char kPoison = 0xDB;

class BoxesTest : public DriverTest {
 protected:
  CUdeviceptr Allocate(size_t bytes) {
    CUdeviceptr memory = 0;
    EXPECT_EQ(DRIVER(cuMemAlloc)(&memory, bytes), CUDA_SUCCESS);
    return memory;
  }
  std::vector<unsigned char> Read(CUdeviceptr memory, size_t bytes) {
    std::vector<unsigned char> data(bytes);
    EXPECT_EQ(DRIVER(cuMemcpyDtoH)(data.data(), memory, bytes), CUDA_SUCCESS);
    return data;
  }
  // 0, 1, 2, ...
  static std::vector<unsigned char> Numbers(size_t count) {
    std::vector<unsigned char> numbers(count);
    for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<unsigned char>(i);
    return numbers;
  }
};

TEST_F(BoxesTest, Copies2DRowsWithoutTouchingGaps) {
  const std::vector<unsigned char> host = Numbers(100);  // 10 x 10
  const CUdeviceptr memory = Allocate(4096);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 10;
  copy.srcXInBytes = 2;
  copy.srcY = 3;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = memory;
  copy.dstPitch = 16;
  copy.dstXInBytes = 1;
  copy.dstY = 1;
  copy.WidthInBytes = 4;
  copy.Height = 2;
  ASSERT_EQ(DRIVER(cuMemcpy2D)(&copy), CUDA_SUCCESS);
  const std::vector<unsigned char> written = Read(memory, 64);
  for (size_t i = 0; i < written.size(); ++i) {
    const size_t x = i % 16, y = i / 16;
    const bool inside = x >= 1 && x < 5 && y >= 1 && y < 3;
    EXPECT_EQ(written[i], inside ? host[(y - 1 + 3) * 10 + x - 1 + 2] : kPoison) << i;
  }
}

TEST_F(BoxesTest, Copies3DLayersWithoutTouchingGaps) {
  const std::vector<unsigned char> host = Numbers(4 * 4 * 4);
  const CUdeviceptr memory = Allocate(4096);
  ASSERT_EQ(DRIVER(cuMemcpyHtoD)(memory, host.data(), host.size()), CUDA_SUCCESS);
  std::vector<unsigned char> out(2 * 2 * 2);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory;
  copy.srcPitch = 4;
  copy.srcHeight = 4;
  copy.srcXInBytes = copy.srcY = copy.srcZ = 1;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = out.data();
  copy.WidthInBytes = copy.Height = copy.Depth = 2;
  ASSERT_EQ(DRIVER(cuMemcpy3D)(&copy), CUDA_SUCCESS);
  EXPECT_EQ(out, (std::vector<unsigned char>{21, 22, 25, 26, 37, 38, 41, 42}));
}

TEST_F(BoxesTest, RejectsInvalidPitch) {
  const CUdeviceptr memory = Allocate(4096);
  std::vector<unsigned char> host(64);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 4;  // narrower than a row
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = memory;
  copy.WidthInBytes = 8;
  copy.Height = 2;
  EXPECT_EQ(DRIVER(cuMemcpy2D)(&copy), CUDA_ERROR_INVALID_VALUE);
  copy.srcPitch = 8;
  copy.dstMemoryType = CUmemorytype{};
  EXPECT_EQ(DRIVER(cuMemcpy2D)(&copy), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemcpy2D)(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuMemcpy3D)(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Read(memory, 1)[0], kPoison);
}

TEST_F(BoxesTest, FailsBeyondAllocation) {
  const CUdeviceptr memory = Allocate(kGranuleBytes);
  std::vector<unsigned char> host(64);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = memory;
  copy.dstPitch = kGranuleBytes;  // the second row is in the next granule
  copy.WidthInBytes = 8;
  copy.Height = 2;
  EXPECT_NE(DRIVER(cuMemcpy2D)(&copy), CUDA_SUCCESS);
}

class ArraysTest : public BoxesTest {
 protected:
  CUarray Make(size_t width, size_t height) {
    CUDA_ARRAY_DESCRIPTOR wanted = {};
    wanted.Width = width;
    wanted.Height = height;
    wanted.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    wanted.NumChannels = 1;
    CUarray array = nullptr;
    EXPECT_EQ(DRIVER(cuArrayCreate)(&array, &wanted), CUDA_SUCCESS);
    return array;
  }
};

TEST_F(ArraysTest, AllocateAndReleaseDeviceMemory) {
  const size_t before = FreeBytes();
  const CUarray array = Make(kGranuleBytes, 3);
  EXPECT_EQ(FreeBytes(), before - 3 * kGranuleBytes);
  EXPECT_EQ(DRIVER(cuArrayDestroy)(array), CUDA_SUCCESS);
  EXPECT_EQ(FreeBytes(), before);
  EXPECT_EQ(DRIVER(cuArrayDestroy)(array), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ArraysTest, CopiesToAndFromArraysIgnorePitch) {
  const std::vector<unsigned char> host = Numbers(8 * 4);
  const CUarray array = Make(8, 4);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data();
  copy.srcPitch = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = 8;
  copy.Height = 4;
  ASSERT_EQ(DRIVER(cuMemcpy2D)(&copy), CUDA_SUCCESS);
  // Copy one column back.
  std::vector<unsigned char> column(4);
  copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.srcXInBytes = 5;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = column.data();
  copy.dstPitch = 1;
  copy.WidthInBytes = 1;
  copy.Height = 4;
  ASSERT_EQ(DRIVER(cuMemcpy2D)(&copy), CUDA_SUCCESS);
  EXPECT_EQ(column, (std::vector<unsigned char>{5, 13, 21, 29}));
  EXPECT_EQ(DRIVER(cuArrayDestroy)(array), CUDA_SUCCESS);
}

TEST_F(ArraysTest, LinearCopiesCheckBounds) {
  const CUarray array = Make(64, 0);
  const std::vector<unsigned char> host = Numbers(16);
  std::vector<unsigned char> back(16);
  const CUdeviceptr memory = Allocate(4096);
  ASSERT_EQ(DRIVER(cuMemcpyHtoA)(array, 32, host.data(), 16), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemcpyAtoD)(memory, array, 32, 16), CUDA_SUCCESS);
  EXPECT_EQ(Read(memory, 16), host);
  ASSERT_EQ(DRIVER(cuMemcpyDtoA)(array, 0, memory + 8, 8), CUDA_SUCCESS);
  ASSERT_EQ(DRIVER(cuMemcpyAtoH)(back.data(), array, 0, 16), CUDA_SUCCESS);
  EXPECT_TRUE(std::equal(host.begin() + 8, host.end(), back.begin()));
  EXPECT_EQ(back[8], kPoison);
  EXPECT_EQ(DRIVER(cuMemcpyHtoA)(array, 56, host.data(), 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DRIVER(cuArrayDestroy)(array), CUDA_SUCCESS);
}

}  // namespace boxes_test
}  // namespace fakecuda
