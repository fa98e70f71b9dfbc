#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "common/platform/testing_descriptors.h"
#include "reveza/gpu/swap/arena.h"

namespace reveza::swap {
namespace headroom_test {

class HeadroomTest : public ::testing::Test {
 protected:
  HeadroomTest() {
    char name[] = "/tmp/reveza-headroom-XXXXXX";
    root_ = mkdtemp(name);
    Write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n");
  }
  ~HeadroomTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  Bytes Headroom() const { return HostHeadroom(root_.c_str()); }

  std::filesystem::path root_;
};

TEST_F(HeadroomTest, EqualsMemAvailableWithoutCgroup) { EXPECT_EQ(Headroom(), 4000000 * kKiB); }

TEST_F(HeadroomTest, LimitsOfAncestorCgroupsApply) {
  Write("proc/self/cgroup", "0::/outer/inner\n");
  Write("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  Write("sys/fs/cgroup/outer/inner/memory.current", "100\n");
  EXPECT_EQ(Headroom(), 4000000 * kKiB);
  Write("sys/fs/cgroup/outer/memory.max", "1048576\n");
  Write("sys/fs/cgroup/outer/memory.current", "48576\n");
  EXPECT_EQ(Headroom(), 1000000u);
  Write("sys/fs/cgroup/outer/inner/memory.max", "600\n");
  EXPECT_EQ(Headroom(), 500u);
  Write("sys/fs/cgroup/outer/inner/memory.current", "700\n");
  EXPECT_EQ(Headroom(), 0u);
}

TEST_F(HeadroomTest, ReadsCgroupV1) {
  Write("proc/self/cgroup", "5:cpu:/x\n4:memory:/box\n");
  Write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "5000\n");
  Write("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(Headroom(), 4000u);
}

TEST_F(HeadroomTest, MissingFilesDoNotLimit) {
  std::filesystem::remove_all(root_ / "proc");
  EXPECT_EQ(Headroom(), ~Bytes{0});
}

TEST_F(HeadroomTest, ZeroWithoutDescriptors) {
  const platform::NoDescriptors none;
  EXPECT_EQ(Headroom(), 0u) << "a limit may exist";
}

}  // namespace headroom_test
}  // namespace reveza::swap
