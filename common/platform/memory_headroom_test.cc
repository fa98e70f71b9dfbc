#include "common/platform/memory_headroom.h"

#include <gtest/gtest.h>

#include <string>

#include "common/platform/testing_descriptors.h"
#include "common/platform/testing_directory.h"

namespace reveza::platform {
namespace memory_headroom_test {

class HeadroomTest : public testing::Test {
 protected:
  HeadroomTest() {
    root_.Write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n");
  }
  // Writes files of a group of version 2.
  void Group(const std::string& name, const char* max, const char* current,
             const char* stat = nullptr) const {
    const std::string folder = "sys/fs/cgroup/" + name + "/";
    root_.Write(folder + "memory.max", max);
    root_.Write(folder + "memory.current", current);
    if (stat != nullptr) root_.Write(folder + "memory.stat", stat);
  }
  Bytes Headroom() const { return HostHeadroom(root_.path().c_str()); }
  std::string Description() const {
    char text[400];
    DescribeHostLimit(root_.path().c_str(), text, sizeof(text));
    return text;
  }

  TestingDirectory root_;
};

TEST_F(HeadroomTest, EqualsMemAvailableWithoutCgroup) {
  EXPECT_EQ(Headroom(), 4000000 * kKiB);
  EXPECT_NE(Description().find("3906 MiB"), std::string::npos) << Description();
}

TEST_F(HeadroomTest, LimitsOfAncestorCgroupsApply) {
  root_.Write("proc/self/cgroup", "0::/outer/inner\n");
  Group("outer/inner", "max\n", "100\n");
  EXPECT_EQ(Headroom(), 4000000 * kKiB);
  Group("outer", "1048576\n", "48576\n");
  EXPECT_EQ(Headroom(), 1000000u);
  Group("outer/inner", "600\n", "100\n");
  EXPECT_EQ(Headroom(), 500u);
  Group("outer/inner", "600\n", "700\n");
  EXPECT_EQ(Headroom(), 0u);
}

TEST_F(HeadroomTest, CleanPageCacheCountsAsFree) {
  root_.Write("proc/self/cgroup", "0::/box\n");
  Group("box", "10000\n", "10000\n",
        "anon 3000\nfile 6500\nfile_mapped 100\nfile_dirty 400\nfile_writeback 100\n"
        "inactive_anon 3000\ninactive_file 4000\nactive_file 2000\nslab_reclaimable 500\n");
  EXPECT_EQ(Headroom(), 5500u) << "6000 of cache, of which 500 must be written first";
  Group("box", "10000\n", "10000\n", "anon 9990\nfile_dirty 90\ninactive_file 10\n");
  EXPECT_EQ(Headroom(), 0u) << "all of it is dirty";
}

TEST_F(HeadroomTest, CacheOfEachGroupCounts) {
  root_.Write("proc/self/cgroup", "0::/outer/inner\n");
  Group("outer/inner", "10000\n", "9000\n", "inactive_file 6000\n");
  Group("outer", "20000\n", "19000\n", "active_file 1000\n");
  EXPECT_EQ(Headroom(), 2000u);
}

TEST_F(HeadroomTest, StaysBelowMemoryHigh) {
  root_.Write("proc/self/cgroup", "0::/box\n");
  Group("box", "100000000\n", "10000000\n");
  root_.Write("sys/fs/cgroup/box/memory.high", "max\n");
  EXPECT_EQ(Headroom(), 90000000u);
  root_.Write("sys/fs/cgroup/box/memory.high", "70000000\n");
  EXPECT_EQ(Headroom(), 60000000u);
  EXPECT_NE(Description().find("memory.high in "), std::string::npos) << Description();
  EXPECT_NE(Description().find("/sys/fs/cgroup/box"), std::string::npos) << Description();
  Group("box", "max\n", "10000000\n");
  EXPECT_EQ(Headroom(), 60000000u) << "without memory.max";
}

TEST_F(HeadroomTest, ReadsCgroupV1) {
  const std::string box = "sys/fs/cgroup/memory/box/";
  root_.Write("proc/self/cgroup", "5:cpu:/x\n4:memory:/box\n");
  root_.Write(box + "memory.limit_in_bytes", "5000\n");
  root_.Write(box + "memory.usage_in_bytes", "4500\n");
  EXPECT_EQ(Headroom(), 500u);
  root_.Write(box + "memory.stat",
              "cache 9\ninactive_file 9\ndirty 9\n"
              "total_inactive_file 2000\ntotal_active_file 1000\ntotal_dirty 200\n"
              "total_writeback 100\n");
  EXPECT_EQ(Headroom(), 3200u) << "the totals include the groups below";
  root_.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root_.Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "6000\n");
  EXPECT_EQ(Headroom(), 3200u) << "such a number means no limit";
}

TEST_F(HeadroomTest, FindsMountedGroupOfContainer) {
  root_.Write("proc/self/cgroup", "0::/pod/box\n");
  root_.Write("proc/self/mountinfo",
              "35 31 0:30 /pod /elsewhere/cgroup ro shared:9 - cgroup2 cgroup2 rw\n");
  root_.Write("elsewhere/cgroup/memory.max", "3000\n");
  root_.Write("elsewhere/cgroup/memory.current", "1000\n");
  root_.Write("elsewhere/cgroup/box/memory.max", "max\n");
  EXPECT_EQ(Headroom(), 2000u);
}

TEST_F(HeadroomTest, MissingFilesDoNotLimit) {
  std::filesystem::remove_all(root_ / "proc");
  EXPECT_EQ(Headroom(), ~Bytes{0});
}

TEST_F(HeadroomTest, ZeroWithoutDescriptors) {
  const NoDescriptors none;
  EXPECT_EQ(Headroom(), 0u) << "a limit may exist";
}

}  // namespace memory_headroom_test
}  // namespace reveza::platform
