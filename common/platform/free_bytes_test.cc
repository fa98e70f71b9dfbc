#include "common/platform/free_bytes.h"

#include <gtest/gtest.h>

namespace reveza::platform {
namespace free_bytes_test {

TEST(FreeBytes, OfTheDiskOfAFolder) {
  const auto free = FreeBytes("/");
  ASSERT_TRUE(free);
  EXPECT_GT(*free, uint64_t{1} << 20);
}

TEST(FreeBytes, AreUnknownWithoutADisk) {
  EXPECT_FALSE(FreeBytes("/no/such/folder"));
  EXPECT_FALSE(FreeBytes("/proc"));
}

}  // namespace free_bytes_test
}  // namespace reveza::platform
