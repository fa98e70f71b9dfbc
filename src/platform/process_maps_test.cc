#include "platform/process_maps.h"

#include <gtest/gtest.h>

#include "platform/testing_directory.h"

namespace reveza::platform {
namespace {

TEST(ProcessMaps, CountsAndNamesLibrariesOnce) {
  const ProcessMaps maps = ParseProcessMaps(
      "55d0-55d1 r--p 00000000 08:01 12   /usr/bin/python3.11\n"
      "55d1-55d2 r-xp 00000000 08:01 12   /usr/bin/python3.11\n"
      "7f00-7f01 rw-p 00000000 00:00 0 \n"
      "7f01-7f02 r--p 00000000 08:01 13   /usr/lib/libcuda.so.535.1\n"
      "7f02-7f03 r-xp 00000000 08:01 13   /usr/lib/libcuda.so.535.1\n"
      "7f03-7f04 r-xp 00001000 08:01 13   /usr/lib/libcuda.so.535.1\n"
      "7f05-7f06 r--p 00000000 08:01 14   /usr/lib/libdata.so\n"
      "7f07000000-7f08000000 rw-s 00000000 00:06 15   /dev/nvidia-uvm\n"
      "7f09000000-7f09001000 rw-s 00000000 00:06 15   /dev/nvidia-uvm\n");
  EXPECT_EQ(maps.count, 9u);
  EXPECT_EQ(maps.libraries,
            (std::vector<std::string>{"/usr/bin/python3.11", "/usr/lib/libcuda.so.535.1"}));
  EXPECT_EQ(maps.uvm, 2u);
  EXPECT_EQ(maps.uvm_bytes, 0x1001000u);
  EXPECT_EQ(FindLibrary(maps, "libcuda.so"), "/usr/lib/libcuda.so.535.1");
  EXPECT_EQ(FindLibrary(maps, "lib"), "/usr/lib/libcuda.so.535.1");
  EXPECT_EQ(FindLibrary(maps, "libgomp"), std::nullopt);
}

TEST(ProcessMaps, OfThisProcessHoldTheCLibrary) {
  const auto maps = ReadProcessMaps(0);
  ASSERT_TRUE(maps);
  EXPECT_GT(maps->count, 5u);
  EXPECT_TRUE(FindLibrary(*maps, "libc.so"));
  const TestingDirectory none;
  EXPECT_FALSE(ReadProcessMaps(0, none.path()));
}

}  // namespace
}  // namespace reveza::platform
