#include "reveza/jobs/cluster/ray.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace ray_test {

TEST(Ray, AsksForWhatEachTaskNeeds) {
  EXPECT_EQ(RayResources({.cpus = 3, .memory = 1000 * kMiB + 1, .gpu = true}),
            R"({"memory":1048576001,"num_cpus":3,"num_gpus":1})");
  EXPECT_EQ(RayResources({}), R"({"num_cpus":1})");
}

TEST(Ray, ReadsTasks) {
  const auto reports = ParseRayTasks(
      "sweep-1.2|1|PENDING|no node has 64 CPU\n"
      "sweep-1.2|2|RUNNING|\n"
      "sweep-1.2|3|OUT_OF_MEMORY|\n"
      "garbage\n"
      "sweep-1.2|x|RUNNING|\n"
      "sweep-1.2|4|LOST|\n"
      "sweep-1.2|5|CANCELLED|\n"
      "sweep-1.2|6|ENDED|\n");
  ASSERT_EQ(reports.size(), 6u);
  EXPECT_EQ(reports[0].array, "sweep-1.2");
  EXPECT_EQ(reports[0].task, 1u);
  EXPECT_EQ(reports[0].reason, "no node has 64 CPU");
  const TaskState expected[] = {TaskState::kPending,     TaskState::kRunning,
                                TaskState::kOutOfMemory, TaskState::kNodeLost,
                                TaskState::kCancelled,   TaskState::kEnded};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(reports[i].state, expected[i]) << i;
}

TEST(Ray, GivesArraysTheScript) {
  const auto ray = Ray::Find();
  ASSERT_TRUE(ray);
  const ArrayScript script = (*ray)->Script("reveza", "array");
  EXPECT_TRUE(script.text.starts_with("\"\"\"An array of tasks on Ray."));
  EXPECT_TRUE(script.text.ends_with("main()\n"));
}

}  // namespace ray_test
}  // namespace reveza::jobs
