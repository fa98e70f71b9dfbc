#include "reveza/gpu/simulator/simulation.h"

#include <gtest/gtest.h>

#include <map>

#include "reveza/gpu/simulator/trace_file.h"

namespace reveza::simulator {
namespace simulation_test {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

WorldFile World(const std::string& jobs) {
  auto world = ParseWorldFile("gpu_budget = '24GiB'\nlink = '50GB'\n" + jobs, "w.toml");
  EXPECT_TRUE(world.has_value()) << world.error().message;
  return *std::move(world);
}

std::string Job(const char* name, const char* memory, const char* more = "") {
  return std::string("[[job]]\nname = '") + name + "'\nmemory = '" + memory + "'\nwork = '1min'\n" +
         more;
}

TEST(Simulation, TakesTurnsWhereMemoryIsShort) {
  const auto result = Simulate(World(Job("a", "14GiB") + Job("b", "14GiB")), hours(1), 1);
  EXPECT_TRUE(result.all_finished);
  EXPECT_GT(result.makespan, minutes(2));
  EXPECT_LT(result.makespan, seconds(135)) << "handovers take a twentieth of the time";
  EXPECT_GT(result.bytes_moved, 28 * kGiB);
  for (const SimulatedJob& job : result.jobs) {
    EXPECT_TRUE(job.finished);
    EXPECT_GT(job.turns, 1u);
    EXPECT_GE(job.ran, minutes(1));
    EXPECT_GT(job.waited, seconds(40));
    EXPECT_FALSE(job.waits.empty());
    EXPECT_LE(job.WaitPercentile(0.5), job.WaitPercentile(0.99));
  }
  EXPECT_GT(result.Fairness(), 0.95);
}

TEST(Simulation, NobodyWaitsWhereAllFits) {
  const auto result = Simulate(
      World("kernels = 'independent'\n" + Job("a", "10GiB") + Job("b", "10GiB")), hours(1), 1);
  EXPECT_LT(result.makespan, seconds(62));
  EXPECT_EQ(result.bytes_moved, 0u);
  EXPECT_EQ(result.jobs[0].turns, 1u);
}

// Kernels of jobs that fit together take turns on the GPU, or run at the same time.
TEST(Simulation, MpsHelpsKernelsThatDoNotFillTheGpu) {
  const auto play = [](const std::string& kernels, const char* fills) {
    const std::string jobs = Job("a", "4GiB", "copies = 4\n") + fills;
    const auto result = Simulate(World("kernels = '" + kernels + "'\n" + jobs), hours(1), 1);
    EXPECT_TRUE(result.all_finished);
    return std::chrono::duration<double, std::ratio<60>>(result.makespan).count();
  };
  EXPECT_NEAR(play("time-sliced", "fills = 0.25\n"), 4, 0.1);
  EXPECT_NEAR(play("mps", "fills = 0.25\n"), 1, 0.05);
  EXPECT_NEAR(play("mps", "fills = 0.5\n"), 2, 0.1);
  EXPECT_NEAR(play("mps", ""), 4, 0.1);
}

TEST(Simulation, WeightsDecideWhoIsFirst) {
  const auto result =
      Simulate(World(Job("a", "14GiB") + Job("b", "14GiB", "weight = 8\n")), hours(1), 1);
  EXPECT_LT(result.jobs[1].ended + seconds(20), result.jobs[0].ended);
}

// A notebook beside two trainings that fill the card in turns.
TEST(Simulation, InteractiveJobWaitsForATenthOfTheTime) {
  const auto wait = [](const char* interactive) {
    const std::string trainings = Job("train", "18GiB", "copies = 2\nkernel = '30ms'\n");
    const std::string notebook = Job("notebook", "8GiB", "kernel = '10ms'\nbusy = '300ms'\n");
    const auto result =
        Simulate(World(trainings + notebook + "sleep = '12s'\ninteractive = " + interactive + "\n"),
                 minutes(2), 1);
    EXPECT_GE(result.jobs[2].waits.size(), 5u);
    return result.jobs[2].WaitPercentile(0.99);
  };
  EXPECT_LE(wait("true") * 10, wait("false"));
}

TEST(Simulation, SpansCoverEachJobOfTheFirstNode) {
  const auto result =
      Simulate(World("nodes = 2\n" + Job("a", "14GiB", "copies = 4\n")), hours(1), 1);
  std::map<std::size_t, Time> covered;
  for (const Span& span : result.spans) {
    EXPECT_LT(span.begin, span.end);
    covered[span.job] += span.end - span.begin;
  }
  ASSERT_EQ(covered.size(), 2u);
  for (const auto& [index, time] : covered) {
    const SimulatedJob& job = result.jobs[index];
    EXPECT_EQ(job.node, 0u);
    EXPECT_EQ(time, job.ended - job.started);
  }
}

TEST(Simulation, PlacesJobsWhereMostMemoryIsFree) {
  const auto result =
      Simulate(World("nodes = 2\n" + Job("large", "20GiB") + Job("small", "5GiB", "copies = 3\n")),
               hours(1), 2);
  EXPECT_EQ(result.jobs[0].node, 0u);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(result.jobs[i].node, 1u);
  EXPECT_EQ(result.jobs[3].name, "small-3");
  EXPECT_EQ(result.bytes_moved, 0u);
}

TEST(Simulation, DoesNotDependOnThreads) {
  const WorldFile world =
      World("nodes = 5\n" + Job("a", "14GiB", "copies = 15\nbusy = '1s'\nsleep = '1s'\n"));
  const auto one = Simulate(world, hours(1), 1);
  const auto many = Simulate(world, hours(1), 4);
  EXPECT_EQ(one.makespan, many.makespan);
  EXPECT_EQ(one.events, many.events);
  EXPECT_EQ(one.bytes_moved, many.bytes_moved);
}

TEST(Simulation, StopsAtTheLimit) {
  const auto result = Simulate(World(Job("a", "14GiB") + Job("b", "14GiB")), seconds(30), 1);
  EXPECT_FALSE(result.all_finished);
  EXPECT_FALSE(result.jobs[0].finished);
  EXPECT_LE(result.makespan, seconds(30));
  EXPECT_GT(result.makespan, seconds(29));
}

TEST(Simulation, FairnessIsJainsIndex) {
  Simulation simulation;
  simulation.jobs.resize(2);
  EXPECT_EQ(simulation.Fairness(), 1);
  simulation.jobs[0].ran = seconds(10);
  simulation.jobs[1].waited = seconds(10);
  EXPECT_EQ(simulation.Fairness(), 0.5) << "one has all";
  simulation.jobs[1].ran = simulation.jobs[1].waited = seconds(5);
  simulation.jobs[0].weight = 2;
  EXPECT_EQ(simulation.Fairness(), 1) << "all of the time with weight 2 is half of it with 1";
}

constexpr const char* kTrace = R"({"otherData": {"gpus": 1, "gpu_budget": 25769803776,
  "host_budget": 68719476736, "link": 2e10, "slice_floor_s": 0.1},
 "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 1, "tid": 71, "args": {"name": "train",
   "memory": 8589934592, "context": 1048576, "weight": 2.0, "priority": "high",
   "interactive": true, "request": 1024, "limit": null}},
  {"ph": "X", "name": "slice", "pid": 1, "tid": 71, "ts": 2000000, "dur": 3000000},
  {"ph": "X", "name": "drain", "pid": 1, "tid": 71, "ts": 5000000, "dur": 20000},
  {"ph": "X", "name": "wait for its turn", "pid": 1, "tid": 71, "ts": 6000000, "dur": 500000},
  {"ph": "X", "name": "slice", "pid": 1, "tid": 71, "ts": 6500000, "dur": 1000000},
  {"ph": "X", "name": "wait for its turn", "pid": 1, "tid": 71, "ts": 8500000, "dur": 500000},
  {"ph": "M", "name": "process_name", "pid": 2, "tid": 72, "args": {"name": "idle", "memory": 5}},
  {"ph": "X", "name": "slice", "pid": 2, "tid": 72, "ts": 1000000, "dur": 100}
 ]})";

TEST(TraceFile, BecomesAWorld) {
  const auto world = ParseTrace(kTrace, "t.json");
  ASSERT_TRUE(world.has_value()) << world.error().message;
  EXPECT_EQ(world->node.budgets, std::vector<Bytes>{24 * kGiB});
  EXPECT_EQ(world->node.link_bandwidth, 2e10);
  EXPECT_EQ(world->node.scheduler.slice_floor, milliseconds(100));
  ASSERT_EQ(world->jobs.size(), 2u);
  const JobGroup& job = world->jobs[0];
  EXPECT_EQ(job.name, "train");
  EXPECT_EQ(job.start, seconds(1));
  EXPECT_EQ(job.plan.footprint, 8 * kGiB);
  EXPECT_EQ(job.plan.context, kMiB);
  EXPECT_EQ(job.plan.work, milliseconds(4020));
  EXPECT_EQ(job.plan.step, milliseconds(40));
  EXPECT_EQ(job.busy, milliseconds(2010));
  EXPECT_EQ(job.plan.sleep_time, milliseconds(990));
  EXPECT_EQ(job.plan.policy.weight, 2);
  EXPECT_EQ(job.plan.policy.priority, scheduler::Priority::kHigh);
  EXPECT_TRUE(job.plan.policy.interactive);
  EXPECT_EQ(job.plan.policy.limit, scheduler::Policy{}.limit);
  EXPECT_TRUE(ValidateWorld(*world));
}

TEST(TraceFile, OthersAreRefused) {
  EXPECT_NE(ParseTrace("{}", "t.json").error().message.find("not a trace"), std::string::npos);
  EXPECT_NE(ParseTrace(R"({"traceEvents": []})", "t").error().message.find("no job"),
            std::string::npos);
  EXPECT_FALSE(ParseTrace("[", "t.json"));
  EXPECT_FALSE(ParseTrace(R"({"traceEvents": [{"ph": "X", "pid": "x"}, 3]})", "t.json"));
}

}  // namespace simulation_test
}  // namespace reveza::simulator
