// What weights give and cost: the same random worlds are played with them and without, which is the
// policy that there was before. bench/worlds.py shows that the scheduler decides like its
// predecessor where no job has a weight, up to chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <vector>

#include "reveza/gpu/simulator/scenario.h"

namespace reveza::simulator {
namespace fair_share_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kMargin = 0.05;

struct Played {
  double makespan = 0;  // seconds
  double fairness = 0;  // Jain's index of GPU time by weight, while all jobs are there
  bool finished = false;
};

using Weights = std::map<JobId, double>;

enum class Sizes {
  kAny,        // some jobs fit together, some use several GPUs
  kExclusive,  // no two jobs fit together on the only GPU that they use
};

// Busy jobs that compute for long enough to take many turns, and whose weights differ.
Scenario LongWorld(std::uint64_t seed, Sizes sizes, Weights& weights) {
  Scenario scenario = RandomScenario(seed, Flavour::kPlain);
  scenario.world.check = false;
  scenario.world.kernels = Kernels::kTimeSliced;
  scenario.world.scheduler.max_wait = seconds(120);  // the default: nobody queues
  std::mt19937_64 random(seed);
  std::vector<Scenario::Process> processes;
  for (Scenario::Process& process : scenario.processes) {
    process.plan.work = milliseconds(10'000 + random() % 20'000);
    const double weight = static_cast<double>(1 + random() % 8);
    const Bytes footprint = scenario.world.budgets[0] * (52 + random() % 20) / 100;
    const bool fresh = weights.try_emplace(process.job, weight).second;
    if (sizes == Sizes::kExclusive) {
      if (!fresh) continue;
      process.plan.gpus = {0};
      process.plan.footprint = process.plan.max_footprint = footprint;
    }
    processes.push_back(process);
  }
  scenario.processes = processes;
  return scenario;
}

double Fairness(const std::vector<scheduler::JobView>& jobs, const Weights& weights) {
  double sum = 0;
  double squares = 0;
  for (const scheduler::JobView& job : jobs) {
    const double share = static_cast<double>(job.ran.count()) / weights.at(job.id);
    sum += share;
    squares += share * share;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(jobs.size()) * squares);
}

Played Play(Scenario scenario, const Weights& weights, bool weighted) {
  World world(scenario.world);
  for (Scenario::Process& process : scenario.processes) {
    if (weighted) process.plan.policy.weight = weights.at(process.job);
    world.Start(process.start, process.job, process.plan);
  }
  Played played;
  const Time limit = scenario.processes.size() * MaxWait(scenario);
  for (Time now = seconds(3); now <= limit; now += milliseconds(100)) {
    world.Run(now);
    if (world.clients().size() < scenario.processes.size()) break;
    played.fairness = Fairness(world.scheduler().Jobs(), weights);
  }
  world.Run(limit);
  played.makespan = std::chrono::duration<double>(world.last_exit()).count();
  played.finished = world.clients().empty();
  return played;
}

struct Comparison {
  int worlds = 0;
  int slower = 0;
  int less_fair = 0;
  double makespan = 0;  // mean of the ratios
  double before = 0;    // mean fairness
  double now = 0;
};

// Plays the first `worlds`.
Comparison Compare(Sizes sizes, std::uint64_t worlds) {
  Comparison sum;
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    Weights weights;
    const Scenario scenario = LongWorld(seed, sizes, weights);
    const Played before = Play(scenario, weights, false);
    const Played now = Play(scenario, weights, true);
    EXPECT_TRUE(before.finished && now.finished) << "world " << seed;
    ++sum.worlds;
    sum.makespan += now.makespan / before.makespan;
    sum.before += before.fairness;
    sum.now += now.fairness;
    const bool slower = now.makespan > (1 + kMargin) * before.makespan;
    const bool less_fair = now.fairness < (1 - kMargin) * before.fairness;
    sum.slower += slower ? 1 : 0;
    sum.less_fair += less_fair ? 1 : 0;
    if (!slower && !less_fair) continue;
    std::printf("world %llu: makespan %.3f s to %.3f s, fairness %.3f to %.3f\n",
                static_cast<unsigned long long>(seed), before.makespan, now.makespan,
                before.fairness, now.fairness);
  }
  sum.makespan /= sum.worlds;
  sum.before /= sum.worlds;
  sum.now /= sum.worlds;
  std::printf(
      "%d worlds: makespan %+.2f %% in the mean, more than 5 %% longer in %d; fairness %.4f to "
      "%.4f in the mean, more than 5 %% less in %d\n",
      sum.worlds, 100 * (sum.makespan - 1), sum.slower, sum.before, sum.now, sum.less_fair);
  return sum;
}

TEST(FairShare, JobsThatDoNotFitTogether) {
  const Comparison compared = Compare(Sizes::kExclusive, 1000);
  EXPECT_EQ(compared.slower, 0);
  EXPECT_EQ(compared.less_fair, 0);
  EXPECT_LE(compared.makespan, 1);
  EXPECT_GT(compared.now, 0.99);
  EXPECT_LT(compared.before, 0.8);
}

// A job that fits beside those in their slice runs, whatever its weight: that divides time only
// between jobs that do not fit together. The time which a light job has beside others therefore
// counts against the index, in some worlds for more than weights add to it.
TEST(FairShare, AnyJobs) {
  const Comparison compared = Compare(Sizes::kAny, 1000);
  EXPECT_LE(compared.slower, 8);
  EXPECT_LE(compared.less_fair, 100);
  EXPECT_LE(compared.makespan, 1);
  EXPECT_GT(compared.now, compared.before);
}

}  // namespace fair_share_test
}  // namespace reveza::simulator
