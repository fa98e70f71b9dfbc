#include "reveza/jobs/supervisor/disk_space.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace disk_space_test {

class DiskSpaceTest : public testing::Test {
 protected:
  std::optional<std::uint64_t> free_ = 10 * DiskSpace::kMuch;
  int readings_ = 0;
  DiskSpace space_{[this](const std::string&) {
    ++readings_;
    return free_;
  }};
};

TEST_F(DiskSpaceTest, MuchSpaceIsNotReadAgainForAMoment) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(space_.HasRoom("/a", 1000 + i));
  EXPECT_EQ(readings_, 1);
  free_ = 0;
  EXPECT_TRUE(space_.HasRoom("/a", 1000 + DiskSpace::kMaxAge - 1));
  EXPECT_FALSE(space_.HasRoom("/a", 1000 + DiskSpace::kMaxAge));
  EXPECT_EQ(readings_, 2);
}

TEST_F(DiskSpaceTest, LittleSpaceIsReadEachTime) {
  free_ = DiskSpace::kMuch - 1;
  EXPECT_TRUE(space_.HasRoom("/a", 1));
  free_ = 0;
  EXPECT_FALSE(space_.HasRoom("/a", 2));
  EXPECT_FALSE(space_.HasRoom("/a", 3));
  free_ = 10 * DiskSpace::kMuch;
  EXPECT_TRUE(space_.HasRoom("/a", 4));
  EXPECT_EQ(readings_, 4);
}

TEST_F(DiskSpaceTest, AnotherFolderMayBeOnAnotherDisk) {
  EXPECT_TRUE(space_.HasRoom("/a", 1));
  free_ = 0;
  EXPECT_FALSE(space_.HasRoom("/b", 2));
}

TEST_F(DiskSpaceTest, UnknownSpaceIsRoom) {
  free_.reset();
  EXPECT_TRUE(space_.HasRoom("/a", 1));
  EXPECT_TRUE(space_.HasRoom("/a", 2));
  EXPECT_EQ(readings_, 2);
}

}  // namespace disk_space_test
}  // namespace reveza::jobs
