#include <gtest/gtest.h>

#include "common/platform/machine.h"
#include "common/platform/testing_directory.h"

namespace reveza::platform {
namespace pressure_test {

using std::chrono::microseconds;

constexpr char kMemory[] =
    "some avg10=17.29 avg60=12.15 avg300=5.73 total=26102098501\n"
    "full avg10=0.50 avg60=0.25 avg300=0.00 total=170206333\n";

TEST(Pressure, ParsesBothLines) {
  const auto pressure = ParsePressure(kMemory);
  ASSERT_TRUE(pressure);
  EXPECT_EQ(pressure->some, (PressureLine{17.29, 12.15, 5.73, microseconds(26102098501)}));
  EXPECT_EQ(pressure->full, (PressureLine{0.5, 0.25, 0, microseconds(170206333)}));
}

// As with a kernel that was started with psi=0.
TEST(Pressure, UnreadableFileYieldsNothing) {
  const TestingDirectory root;
  std::filesystem::create_directories(root / "proc/pressure/memory");
  EXPECT_FALSE(MachinePressure(root.path()).memory);
}

TEST(Pressure, FullLineIsOptional) {
  const auto pressure = ParsePressure("some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n");
  ASSERT_TRUE(pressure);
  EXPECT_EQ(pressure->some.average_10s, 1.0);
  EXPECT_EQ(pressure->full, std::nullopt);
}

TEST(Pressure, RejectsMalformedText) {
  EXPECT_EQ(ParsePressure(""), std::nullopt);
  EXPECT_EQ(ParsePressure("some avg10=x avg60=0.00 avg300=0.00 total=5\n"), std::nullopt);
  EXPECT_EQ(ParsePressure("some avg10=1.00 avg60=0.00 total=5\n"), std::nullopt);
  EXPECT_EQ(ParsePressure("full avg10=1.00 avg60=0.00 avg300=0.00 total=5\n"), std::nullopt);
}

TEST(MachinePressure, IsEmptyWithoutKernelSupport) {
  TestingDirectory root;
  EXPECT_EQ(MachinePressure(root.path()), Pressures{});
  root.Write("proc/pressure/memory", kMemory);
  root.Write("proc/pressure/io", "");
  const auto pressures = MachinePressure(root.path());
  EXPECT_EQ(pressures.memory, ParsePressure(kMemory));
  EXPECT_EQ(pressures.cpu, std::nullopt);
  EXPECT_EQ(pressures.io, std::nullopt) << "disabled";
}

TEST(CgroupPressure, SupportsPureAndHybridHierarchies) {
  TestingDirectory pure;
  pure.Write("proc/self/cgroup", "0::/user/job\n");
  pure.Write("sys/fs/cgroup/user/job/memory.pressure", kMemory);
  EXPECT_EQ(CgroupPressure(0, pure.path()).memory, ParsePressure(kMemory));

  TestingDirectory hybrid;
  hybrid.Write("proc/42/cgroup", "4:memory:/elsewhere\n0::/job\n");
  hybrid.Write("sys/fs/cgroup/unified/cgroup.procs", "");
  hybrid.Write("sys/fs/cgroup/unified/job/cpu.pressure", kMemory);
  EXPECT_EQ(CgroupPressure(42, hybrid.path()).cpu, ParsePressure(kMemory));
  EXPECT_EQ(CgroupPressure(43, hybrid.path()), Pressures{}) << "no such process";
}

TEST(CgroupPressure, IsEmptyInTheRootGroup) {
  TestingDirectory root;
  root.Write("proc/self/cgroup", "0::/\n");
  root.Write("sys/fs/cgroup/memory.pressure", kMemory);
  EXPECT_EQ(CgroupPressure(0, root.path()), Pressures{});
  root.Write("proc/self/cgroup", "4:memory:/job\n");
  EXPECT_EQ(CgroupPressure(0, root.path()), Pressures{}) << "only version 1";
}

}  // namespace pressure_test
}  // namespace reveza::platform
