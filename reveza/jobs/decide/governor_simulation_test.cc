// The governor on a simulated machine with concurrent CPU and GPU steps, whose lanes scale
// independently.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "common/platform/testing_directory.h"
#include "reveza/jobs/decide/governor.h"

namespace reveza::jobs {
namespace governor_simulation_test {

using std::chrono::nanoseconds;

using Speed = std::function<double(double workers)>;

// The universal scalability law, N. Gunther 2007.
Speed Scalability(double sigma, double kappa) {
  return [=](double n) { return n / (1 + sigma * (n - 1) + kappa * n * (n - 1)); };
}

nanoseconds Of(double seconds) { return nanoseconds(std::llround(seconds * 1e9)); }
double InSeconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

// Makes a job of two commands, the second of which claims GPU memory.
Job TwoCommands(Bytes gpu_memory) {
  Job job;
  for (const char* name : {"./first", "./second"}) {
    Command command;
    command.arguments = {name, "{n}"};
    command.claim.memory = 1;
    job.commands.push_back(command);
  }
  if (gpu_memory > 0) job.commands[1].claim.gpu_memory = gpu_memory;
  return job;
}

void AddSteps(Job& job, std::uint32_t command, int count) {
  for (int n = 0; n < count; ++n) job.steps.emplace_back().command = command;
}

class World {
 public:
  using Step = std::function<double(std::uint32_t command, std::mt19937_64& random)>;

  World(const Job& job, const RunRequest& request, std::vector<Speed> speeds, Step step,
        unsigned seed)
      : job_(job),
        governor_(job, request, 4, {.root = root_.path()}),
        speeds_(std::move(speeds)),
        step_(std::move(step)),
        random_(seed),
        waiting_(job.commands.size(), 0) {
    for (const auto& one : job.steps) ++waiting_[one.command];
    queue_.resize(kLanes);
    for (std::uint32_t i = 0; i < job.steps.size(); ++i) {
      queue_[Lane(i)].push_back(i);
    }
    next_.assign(kLanes, 0);
    Start();
  }

  // Finishes the next step; returns false if none is running.
  bool Advance() {
    double first = -1;
    std::size_t which = 0;
    const auto running = Count();
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const double at = running_[i].left / Each(running_[i].step, running);
      if (first < 0 || at < first) {
        first = at;
        which = i;
      }
    }
    if (first < 0) return false;
    now_ += first;
    for (auto& one : running_) one.left -= first * Each(one.step, running);
    const auto done = running_[which];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which));
    AttemptResult result;
    result.outcome = Outcome::kSuccess;
    result.began = Of(done.began).count();
    result.ended = Of(now_).count();
    result.user_time = result.ended - result.began;
    governor_.OnStepEnded(Of(now_), done.step, result, {}, {});
    ++finished_;
    Start();
    return true;
  }

  std::optional<RemainingTime> Remaining() const {
    return governor_.Remaining(waiting_, Of(now_), Admitted_());
  }
  const Governor& governor() const { return governor_; }
  double now() const { return now_; }
  std::size_t finished() const { return finished_; }
  std::size_t running() const { return running_.size(); }

 private:
  struct Running {
    std::uint32_t step = 0;
    double left = 0;
    double began = 0;
  };

  std::size_t Lane(std::uint32_t step) const {
    return static_cast<std::size_t>(LaneOf(job_.commands[job_.steps[step].command]));
  }
  Governor::Counts Count() const {
    Governor::Counts count{};
    for (const auto& one : running_) ++count[Lane(one.step)];
    return count;
  }
  double Each(std::uint32_t step, const Governor::Counts& running) const {
    const double workers = running[Lane(step)];
    return speeds_[Lane(step)](workers) / workers;
  }
  std::vector<RunningStep> Admitted_() const {
    std::vector<RunningStep> all;
    for (const auto& one : running_) {
      RunningStep admitted;
      admitted.step = one.step;
      admitted.since = Of(one.began);
      admitted.cpu = Of(now_ - one.began);
      all.push_back(admitted);
    }
    return all;
  }
  void Start() {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      while (next_[lane] < queue_[lane].size() && governor_.LanesWithRoom(Count())[lane]) {
        const auto step = queue_[lane][next_[lane]++];
        --waiting_[job_.steps[step].command];
        running_.push_back({step, step_(job_.steps[step].command, random_), now_});
      }
    }
    governor_.ObserveUsage(Of(now_), Admitted_());
    governor_.Update(Of(now_), {queue_[0].size() - next_[0], queue_[1].size() - next_[1]},
                     Admitted_());
  }

  const Job& job_;
  platform::TestingDirectory root_;
  Governor governor_;
  std::vector<Speed> speeds_;
  Step step_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> waiting_;
  std::vector<std::vector<std::uint32_t>> queue_;
  std::vector<std::size_t> next_;
  std::vector<Running> running_;
  double now_ = 0;
  std::size_t finished_ = 0;
};

TEST(GovernorSimulation, FindsOptimaOfBothLanes) {
  Job job = TwoCommands(1);
  AddSteps(job, 0, 1500);
  AddSteps(job, 1, 1500);
  const auto cpu = Scalability(0.1, 0.1);  // best with 3
  const Speed gpu = [](double n) { return std::min(n, 6.0) / (1 + 0.02 * n); };
  unsigned found = 0;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    World world(
        job, {}, {cpu, gpu},
        [](std::uint32_t, std::mt19937_64& random) {
          return std::lognormal_distribution<double>(0, 0.2)(random);
        },
        seed);
    while (world.Advance()) {
    }
    const auto& governor = world.governor();
    const bool both = cpu(governor.Workers(Lane::kCpu)) >= 0.9 * cpu(3) &&
                      gpu(governor.Workers(Lane::kGpu)) >= 0.9 * gpu(6);
    if (both) ++found;
    EXPECT_FALSE(governor.tuner(Lane::kCpu).log().empty());
    EXPECT_FALSE(governor.tuner(Lane::kGpu).log().empty());
  }
  EXPECT_GE(found, 9);
}

TEST(GovernorSimulation, MaxWorkersBoundsBothLanes) {
  Job job = TwoCommands(1);
  AddSteps(job, 0, 300);
  AddSteps(job, 1, 300);
  RunRequest request;
  request.max_workers = 3;
  const Speed speed = [](double n) { return n; };
  World world(job, request, {speed, speed}, [](std::uint32_t, std::mt19937_64&) { return 1.0; }, 1);
  do {
    ASSERT_LE(world.running(), 3);
  } while (world.Advance());
  EXPECT_EQ(world.finished(), 600);
}

// Short steps first, long ones last, one per core: the estimate must distinguish classes.
TEST(GovernorSimulation, EstimateIsCalibratedForSeveralClasses) {
  Job job = TwoCommands(0);
  for (int i = 0; i < 10; ++i) {
    AddSteps(job, 0, 1);
    AddSteps(job, 1, 1);
  }
  AddSteps(job, 0, 40);
  AddSteps(job, 1, 40);
  RunRequest request;
  request.workers = 2;
  const Speed speed = [](double n) { return n; };
  unsigned below_p50 = 0;
  unsigned below_p90 = 0;
  constexpr unsigned kSeeds = 100;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    World world(
        job, request, {speed, speed},
        [](std::uint32_t command, std::mt19937_64& random) {
          const double noise = std::lognormal_distribution<double>(0, 0.3)(random);
          return (command == 0 ? 1 : 20) * noise;
        },
        seed);
    while (world.finished() < 20) ASSERT_TRUE(world.Advance());
    const auto remaining = world.Remaining();
    ASSERT_TRUE(remaining);
    const double from = world.now();
    while (world.Advance()) {
    }
    const double really = world.now() - from;
    if (really <= InSeconds(remaining->p50)) ++below_p50;
    if (really <= InSeconds(remaining->p90)) ++below_p90;
  }
  EXPECT_GE(below_p50, kSeeds / 4);
  EXPECT_LE(below_p50, kSeeds * 3 / 4);
  EXPECT_GE(below_p90, kSeeds * 3 / 4);
  EXPECT_LT(below_p90, kSeeds);
}

}  // namespace governor_simulation_test
}  // namespace reveza::jobs
