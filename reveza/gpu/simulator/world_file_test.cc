#include "reveza/gpu/simulator/world_file.h"

#include <gtest/gtest.h>

namespace reveza::simulator {
namespace world_file_test {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kJob = "[[job]]\nname = 'a'\nmemory = '4GiB'\nwork = '1min'\n";

std::string ErrorOf(const std::string& text) {
  const auto world = ParseWorldFile(text, "w.toml");
  return world ? "" : world.error().message;
}

TEST(WorldFile, ReadsCardsAndJobs) {
  const auto world = ParseWorldFile(
      "gpus = 2\ngpu_budget = '24GiB'\nhost_budget = '64GiB'\nlink = '20GB'\nnodes = 3\n"
      "slice_floor = '100ms'\npiece = '1GiB'\nkernels = 'mps'\n"
      "[[job]]\nname = 'train'\ncopies = 4\nstart = '2s'\nmemory = '14GiB'\ncontext = '1GiB'\n"
      "gpus = 2\nwork = '5min'\nkernel = '30ms'\nfills = 0.5\nbusy = '1s'\nsleep = '3s'\nweight = "
      "2.5\n"
      "priority = 'high'\ninteractive = true\nrequest = '2GiB'\nlimit = '16GiB'\n",
      "w.toml");
  ASSERT_TRUE(world.has_value()) << world.error().message;
  EXPECT_EQ(world->nodes, 3u);
  EXPECT_EQ(world->node.budgets, (std::vector<Bytes>{24 * kGiB, 24 * kGiB}));
  EXPECT_EQ(world->node.scheduler.host_budget, 64 * kGiB);
  EXPECT_EQ(world->node.link_bandwidth, 20e9);
  EXPECT_EQ(world->node.scheduler.slice_floor, milliseconds(100));
  EXPECT_EQ(world->node.granule, kGiB);
  EXPECT_EQ(world->node.kernels, Kernels::kMps);
  ASSERT_EQ(world->jobs.size(), 1u);
  const JobGroup& job = world->jobs[0];
  EXPECT_EQ(job.name, "train");
  EXPECT_EQ(job.copies, 4u);
  EXPECT_EQ(job.start, seconds(2));
  EXPECT_EQ(job.busy, seconds(1));
  EXPECT_EQ(job.plan.gpus, (std::vector<GpuId>{0, 1}));
  EXPECT_EQ(job.plan.footprint, 14 * kGiB);
  EXPECT_EQ(job.plan.context, kGiB);
  EXPECT_EQ(job.plan.work, minutes(5));
  EXPECT_EQ(job.plan.step, milliseconds(30));
  EXPECT_EQ(job.plan.fills, 0.5);
  EXPECT_EQ(job.plan.sleep_time, seconds(3));
  const scheduler::Policy policy{.weight = 2.5,
                                 .priority = scheduler::Priority::kHigh,
                                 .interactive = true,
                                 .request = 2 * kGiB,
                                 .limit = 16 * kGiB};
  EXPECT_EQ(job.plan.policy, policy);
  EXPECT_TRUE(ValidateWorld(*world));
}

TEST(WorldFile, GpusAndBudgetMayComeInAnyOrder) {
  const auto world = ParseWorldFile(std::string("gpu_budget = '8GiB'\ngpus = 2\n") + kJob, "w");
  EXPECT_EQ(world->node.budgets, (std::vector<Bytes>{8 * kGiB, 8 * kGiB}));
}

TEST(WorldFile, ErrorsNameThePlaceAndWhatWouldBeRight) {
  EXPECT_EQ(ErrorOf("[[job]]\nmemry = '1GiB'\n").substr(0, 41),
            "w.toml:2:1: unknown key 'memry'; did you ");
  EXPECT_NE(ErrorOf("gpu_budget = 'lots'\n").find("w.toml:1:1: gpu_budget: "), std::string::npos);
  EXPECT_NE(ErrorOf("kernels = 'fast'\n").find("time-sliced, mps or independent"),
            std::string::npos);
  EXPECT_NE(ErrorOf("[[job]]\nfills = 2\n").find("from 0.001 to 1"), std::string::npos);
  EXPECT_NE(ErrorOf("job = 3\n").find("[[job]]"), std::string::npos);
  EXPECT_NE(ErrorOf("nodes = 2\n").find("no job"), std::string::npos);
  EXPECT_NE(ErrorOf("[[job]]\nmemory = '1GiB'\n").find("job1 has no work"), std::string::npos);
  EXPECT_NE(ErrorOf("[[job]]\nweight = 0\n").find("from 0.01 to 100"), std::string::npos);
  EXPECT_NE(ErrorOf("[[job]]\npriority = 'urgent'\n").find("low, normal or high"),
            std::string::npos);
  EXPECT_NE(ErrorOf("[[job]]\ninteractive = 'yes'\n").find("true or false"), std::string::npos);
  EXPECT_NE(ErrorOf("[[job]]\nmemory = [1]\n").find("a number or a string"), std::string::npos);
}

TEST(WorldFile, ChangesValues) {
  auto world = *ParseWorldFile(kJob, "w.toml");
  EXPECT_TRUE(ChangeWorld(world, "gpu_budget=48GiB"));
  EXPECT_TRUE(ChangeWorld(world, "a.weight=3"));
  EXPECT_TRUE(ChangeWorld(world, "a.copies=7"));
  EXPECT_EQ(world.node.budgets[0], 48 * kGiB);
  EXPECT_EQ(world.jobs[0].plan.policy.weight, 3);
  EXPECT_EQ(world.jobs[0].copies, 7u);
  EXPECT_EQ(ChangeWorld(world, "b.weight=3").error().message.substr(0, 10), "no job 'b'");
  EXPECT_FALSE(ChangeWorld(world, "a.weight"));
  EXPECT_FALSE(ChangeWorld(world, "a.wait=3"));
  EXPECT_FALSE(ChangeWorld(world, "weight=3"));
}

TEST(WorldFile, RefusesJobsThatCannotRun) {
  const auto refuses = [](const char* change) {
    auto world = *ParseWorldFile(kJob, "w.toml");
    EXPECT_TRUE(ChangeWorld(world, change));
    return !ValidateWorld(world);
  };
  EXPECT_FALSE(refuses("a.memory=23GiB"));
  EXPECT_TRUE(refuses("a.memory=24GiB")) << "with its context";
  EXPECT_TRUE(refuses("a.limit=4GiB"));
  EXPECT_TRUE(refuses("a.gpus=2"));
  EXPECT_TRUE(refuses("a.kernel=0s"));
  EXPECT_TRUE(refuses("a.busy=1s"));
  EXPECT_TRUE(refuses("slice_floor=1h"));
}

}  // namespace world_file_test
}  // namespace reveza::simulator
