#include "common/platform/network_file_system.h"

#include <gtest/gtest.h>

namespace reveza::platform {
namespace network_file_system_test {

TEST(NetworkFileSystem, DetectsNetworkFileSystems) {
  EXPECT_EQ(NetworkFileSystemOf(0x6969), "NFS");
  EXPECT_EQ(NetworkFileSystemOf(0xFF534D42), "CIFS");
  EXPECT_EQ(NetworkFileSystemOf(0x65735546), "FUSE");
}

TEST(NetworkFileSystem, IgnoresLocalFileSystems) {
  // ext4, btrfs, xfs, tmpfs, overlayfs, zfs.
  for (const std::uint32_t type :
       {0xEF53u, 0x9123683Eu, 0x58465342u, 0x01021994u, 0x794C7630u, 0x2FC12FC1u}) {
    EXPECT_EQ(NetworkFileSystemOf(type), std::nullopt) << std::hex << type;
  }
  EXPECT_EQ(NetworkFileSystem("/proc"), std::nullopt);
  EXPECT_EQ(NetworkFileSystem("/no/such/folder"), std::nullopt);
}

}  // namespace network_file_system_test
}  // namespace reveza::platform
