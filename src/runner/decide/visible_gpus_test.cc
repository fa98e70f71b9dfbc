#include "runner/decide/visible_gpus.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

// Three cards, two of which have UUIDs that begin alike.
struct VisibleGpusTest : testing::Test {
  VisibleGpusTest() {
    for (const char* uuid :
         {"GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", "GPU-00ff0203-0405-0607-0809-0a0b0c0d0e0f",
          "GPU-ffffffff-ffff-ffff-ffff-ffffffffffff"}) {
      platform::GpuReading gpu;
      gpu.uuid = *platform::ParseUuid(uuid);
      gpu.name = "Card";
      gpus_.push_back(gpu);
    }
  }
  void Expect(const std::string& visible, const std::vector<int>& numbers,
              const std::string& order = "") const {
    const auto found = FindVisibleGpus({visible, order}, gpus_);
    ASSERT_TRUE(found.only) << visible << ": " << found.doubt;
    EXPECT_EQ(found.doubt, "");
    std::vector<platform::Uuid> uuids;
    for (const int number : numbers) uuids.push_back(gpus_[number].uuid);
    EXPECT_EQ(*found.only, uuids) << visible;
  }
  void ExpectDoubt(const std::string& visible, const std::string& why) const {
    const auto found = FindVisibleGpus({visible, ""}, gpus_);
    EXPECT_FALSE(found.only) << visible;
    EXPECT_NE(found.doubt.find(why), std::string::npos) << found.doubt;
  }

  std::vector<platform::GpuReading> gpus_;
};

TEST_F(VisibleGpusTest, AreNamedByNumberByUuidOrByItsBeginning) {
  Expect("2", {2});
  Expect("2,0", {2, 0});
  Expect(" 1 , 2", {1, 2});
  Expect("GPU-ffffffff-ffff-ffff-ffff-ffffffffffff", {2});
  Expect("GPU-f,GPU-00FF", {2, 1});
  Expect("GPU-000,2", {0, 2});
}

TEST_F(VisibleGpusTest, NothingIsReadBehindWhatHidesTheRest) {
  Expect("", {});
  Expect("-1", {});
  Expect("1,-1,2", {1});
  Expect("0,,2", {0});
}

TEST_F(VisibleGpusTest, WhatNvmlCannotTellIsSaid) {
  ExpectDoubt("MIG-1,0", "no GPU of the name 'MIG-1'");
  ExpectDoubt("0,MIG-GPU-ffffffff/1/0", "so all are looked at");
  ExpectDoubt("3", "no GPU of the name '3'");
  ExpectDoubt("GPU-00", "no GPU of the name 'GPU-00'");
  ExpectDoubt("GPU-", "no GPU of the name");
  ExpectDoubt("GPU-1234", "no GPU of the name");
  ExpectDoubt("12x", "no GPU of the name");
  const auto none = FindVisibleGpus({"0", ""}, {});
  EXPECT_FALSE(none.only);
  EXPECT_EQ(none.doubt, "") << "where no GPU can be read that is said elsewhere";
}

TEST_F(VisibleGpusTest, NumbersOfUnlikeCardsNeedTheOrderOfTheBus) {
  gpus_[1].name = "Faster card";
  ExpectDoubt("0", "CUDA_DEVICE_ORDER=PCI_BUS_ID");
  Expect("0", {0}, "PCI_BUS_ID");
  Expect("GPU-f", {2});
}

}  // namespace
}  // namespace reveza::runner
