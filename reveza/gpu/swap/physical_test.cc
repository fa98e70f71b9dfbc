#include "reveza/gpu/swap/physical.h"

#include <gtest/gtest.h>

#include "reveza/gpu/swap/testing_driver.h"

namespace reveza::swap {
namespace physical_test {

TEST(PhysicalTest, PiecesCoverTheSizeWithoutGaps) {
  for (const Bytes size : {2 * kMiB, 64 * kMiB, 66 * kMiB, 200 * kMiB}) {
    Bytes at = 0;
    for (const Piece& piece : MakePieces(size)) {
      EXPECT_EQ(piece.offset, at);
      EXPECT_LE(piece.size, kPieceSize);
      at += piece.size;
    }
    EXPECT_EQ(at, size);
  }
}

class OnePieceTest : public ::testing::Test {
 protected:
  OnePieceTest() {
    block_.size = 4 * kMiB;
    block_.properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    block_.pieces = MakePieces(block_.size);
    Mapping mapping;
    gpu_.driver().AddressReserve(&mapping.address, block_.size, kGranularity, 0, 0);
    block_.mappings.push_back(mapping);
  }
  void SetAccess(Bytes offset, Bytes size, CUmemAccess_flags flags) {
    Access access;
    access.offset = offset;
    access.size = size;
    access.description.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.description.flags = flags;
    block_.mappings[0].access.push_back(access);
  }
  testing::TestingDriver gpu_{64 * kMiB};
  Block block_;
};

TEST_F(OnePieceTest, LatestAccessDecidesDirectAddress) {
  ASSERT_EQ(Materialise(gpu_.driver(), block_, block_.pieces[0]), CUDA_SUCCESS);
  EXPECT_EQ(DirectAddress(block_, block_.pieces[0]), 0u) << "no access yet";
  SetAccess(0, 4 * kMiB, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(DirectAddress(block_, block_.pieces[0]), block_.mappings[0].address);
  SetAccess(0, 2 * kMiB, CU_MEM_ACCESS_FLAGS_PROT_READ);
  EXPECT_EQ(DirectAddress(block_, block_.pieces[0]), 0u) << "part of it is read-only";
}

TEST_F(OnePieceTest, FailureRestoresPreviousState) {
  SetAccess(0, 4 * kMiB, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  Piece& piece = block_.pieces[0];
  for (const char* call : {"Create", "Map", "SetAccess"}) {
    gpu_.FailCall(call, 1, CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(Materialise(gpu_.driver(), block_, piece), CUDA_ERROR_UNKNOWN) << call;
    EXPECT_EQ(gpu_.in_use(), 0u) << call;
    EXPECT_EQ(piece.handle, 0u);
  }
  ASSERT_EQ(Materialise(gpu_.driver(), block_, piece), CUDA_SUCCESS);
  *reinterpret_cast<int*>(block_.mappings[0].address) = 3;
  gpu_.FailCall("Unmap", 1, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(Dematerialise(gpu_.driver(), block_, piece), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(*reinterpret_cast<int*>(block_.mappings[0].address), 3);
  gpu_.FailCall("Release", 1, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(Dematerialise(gpu_.driver(), block_, piece), CUDA_ERROR_UNKNOWN);
  EXPECT_FALSE(piece.mapped);
  ASSERT_EQ(Materialise(gpu_.driver(), block_, piece), CUDA_SUCCESS);
  EXPECT_EQ(*reinterpret_cast<int*>(block_.mappings[0].address), 3) << "contents kept";
  EXPECT_EQ(Dematerialise(gpu_.driver(), block_, piece), CUDA_SUCCESS);
  EXPECT_EQ(gpu_.in_use(), 0u);
}

TEST_F(OnePieceTest, FailureAtSecondMappingUndoesFirst) {
  SetAccess(0, 4 * kMiB, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  Mapping second = block_.mappings[0];
  gpu_.driver().AddressReserve(&second.address, block_.size, kGranularity, 0, 0);
  block_.mappings.push_back(second);
  Piece& piece = block_.pieces[0];
  gpu_.FailCall("Map", 2, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(Materialise(gpu_.driver(), block_, piece), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(gpu_.in_use(), 0u) << "still mapped at the first address";
  ASSERT_EQ(Materialise(gpu_.driver(), block_, piece), CUDA_SUCCESS);
  int& at_first = *reinterpret_cast<int*>(block_.mappings[0].address);
  int& at_second = *reinterpret_cast<int*>(second.address);
  at_first = 3;
  EXPECT_EQ(at_second, 3);
  gpu_.FailCall("Unmap", 2, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(Dematerialise(gpu_.driver(), block_, piece), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(at_first, 3) << "mapped again";
  EXPECT_EQ(Dematerialise(gpu_.driver(), block_, piece), CUDA_SUCCESS);
  EXPECT_EQ(gpu_.in_use(), 0u);
}

}  // namespace physical_test
}  // namespace reveza::swap
