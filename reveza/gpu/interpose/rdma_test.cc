#include "reveza/gpu/interpose/rdma.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "common/platform/testing_directory.h"

namespace reveza::interpose {
namespace rdma_test {

class RdmaTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_ / "proc/self/fd"); }
  void LoadModule(const char* name) {
    std::filesystem::create_directories(root_ / "sys/module" / name);
  }
  void Open(const char* device) {
    std::filesystem::create_symlink(device, root_ / "proc/self/fd/7");
  }
  bool MayBeRegistered() { return MayBeRegisteredForRdma((root_ / "").c_str()); }

  platform::TestingDirectory root_;
};

TEST_F(RdmaTest, NeedsTheModule) {
  Open("/dev/infiniband/uverbs0");
  EXPECT_FALSE(MayBeRegistered());
  LoadModule("nvidia_peermem");
  EXPECT_TRUE(MayBeRegistered());
}

TEST_F(RdmaTest, NeedsAnOpenVerbsDevice) {
  LoadModule("nv_peer_mem");
  EXPECT_FALSE(MayBeRegistered());
  Open("/dev/infiniband/rdma_cm");
  EXPECT_FALSE(MayBeRegistered());
  std::filesystem::create_symlink("/dev/infiniband/uverbs12", root_ / "proc/self/fd/8");
  EXPECT_TRUE(MayBeRegistered());
}

TEST_F(RdmaTest, DescriptorsThatCannotBeListedCountAsRegistered) {
  LoadModule("nvidia_peermem");
  std::filesystem::remove_all(root_ / "proc");
  EXPECT_TRUE(MayBeRegistered());
}

}  // namespace rdma_test
}  // namespace reveza::interpose
