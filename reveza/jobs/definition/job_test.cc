#include "reveza/jobs/definition/job.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace job_test {

TEST(MayHoldGpu, WhenItClaimsGpuMemoryOrRunsUnderReveza) {
  Command command;
  EXPECT_FALSE(MayHoldGpu(command));
  command.arguments = {"python3", "train.py", "run"};
  EXPECT_FALSE(MayHoldGpu(command));
  command.claim.gpu_memory = 0;
  EXPECT_FALSE(MayHoldGpu(command));
  command.claim.gpu_memory = 1;
  EXPECT_TRUE(MayHoldGpu(command));
  command.claim.gpu_memory.reset();
  command.arguments = {"env", "A=1", "/usr/bin/reveza", "run", "--", "./train"};
  EXPECT_TRUE(MayHoldGpu(command));
  command.arguments = {"reveza", "status"};
  EXPECT_FALSE(MayHoldGpu(command));
  command.arguments = {"cd there && reveza run ./train {seed}"};
  command.shell = true;
  EXPECT_TRUE(MayHoldGpu(command));
}

using Nodes = std::vector<std::uint32_t>;

Nodes CycleIn(const std::vector<Nodes>& after) {
  return FindDependencyCycle(static_cast<std::uint32_t>(after.size()),
                             [&](std::uint32_t i) { return std::span(after[i]); });
}

TEST(FindDependencyCycle, AcceptsAcyclicGraphs) {
  EXPECT_EQ(CycleIn({}), Nodes());
  EXPECT_EQ(CycleIn({{}, {0}, {0, 1}}), Nodes());
  EXPECT_EQ(CycleIn({{3, 1}, {2}, {}, {2}}), Nodes()) << "in any order, and by two paths";
}

TEST(FindDependencyCycle, ListsTheNodesOfACycle) {
  EXPECT_EQ(CycleIn({{}, {2}, {3}, {1}}), (Nodes{1, 2, 3, 1}));
  EXPECT_EQ(CycleIn({{0}}), (Nodes{0, 0}));
  EXPECT_EQ(CycleIn({{1}, {2}, {1}}), (Nodes{1, 2, 1}))
      << "nodes that only lead into it are omitted";
}

TEST(FindDependencyCycle, HandlesLongChains) {
  std::vector<Nodes> after(200'000);
  for (std::uint32_t i = 0; i + 1 < after.size(); ++i) after[i] = {i + 1};
  EXPECT_EQ(CycleIn(after), Nodes());
  after.back() = {0};
  EXPECT_EQ(CycleIn(after).size(), after.size() + 1);
}

}  // namespace job_test
}  // namespace reveza::jobs
