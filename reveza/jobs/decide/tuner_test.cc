#include "reveza/jobs/decide/tuner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace reveza::jobs {
namespace tuner_test {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Workers that each run steps of `each` seconds, evenly staggered.
class Works {
 public:
  explicit Works(Tuner& tuner) : tuner_(tuner) { tuner_.Update(now_, 100000, tuner_.workers()); }

  // Finishes one step and starts the next.
  void Step(double each, std::uint64_t remaining = 100000) {
    const auto length = nanoseconds(std::llround(each * 1e9));
    now_ += length / tuner_.workers();
    tuner_.OnStepFinished(now_, {.duration = length});
    tuner_.Update(now_, remaining, tuner_.workers());
  }
  void Steps(int count, double each, std::uint64_t remaining = 100000) {
    for (int i = 0; i < count; ++i) Step(each, remaining);
  }
  nanoseconds now() const { return now_; }

 private:
  Tuner& tuner_;
  nanoseconds now_{seconds(1)};
};

TEST(Tuner, ClampsInitialWorkers) {
  EXPECT_EQ(Tuner({.initial = 3, .max = 8}).workers(), 3);
  EXPECT_EQ(Tuner({.initial = 30, .max = 8}).workers(), 8);
  EXPECT_EQ(Tuner({.initial = 1, .min = 2, .max = 8}).workers(), 2);
  EXPECT_EQ(Tuner({.initial = 0, .min = 0, .max = 0}).workers(), 1);
  EXPECT_FALSE(Tuner({.initial = 3, .max = 8}).settled());
}

TEST(Tuner, DoublesWithoutCoresToFill) {
  Tuner tuner({.initial = 1, .max = 4});
  Works works(tuner);
  works.Steps(40, 1);  // the same duration with two: twice the throughput
  ASSERT_GE(tuner.log().size(), 3);
  EXPECT_EQ(tuner.log()[0].text, "2 workers: tried");
  EXPECT_EQ(tuner.log()[0].before, 1);
  EXPECT_EQ(tuner.log()[0].after, 2);
  EXPECT_EQ(tuner.log()[1].text, "2 workers: 2 steps/s, 1 gave 1: kept");
  EXPECT_EQ(tuner.log()[2].text, "4 workers: tried");
  EXPECT_EQ(tuner.workers(), 4);
  EXPECT_EQ(tuner.Limit(), "--max-workers: 4");
}

TEST(Tuner, LeavesWorseNumber) {
  Tuner tuner({.initial = 1, .max = 2});
  Works works(tuner);
  for (int i = 0; i < 60; ++i) works.Step(tuner.workers() == 1 ? 1 : 2.5);
  EXPECT_EQ(tuner.workers(), 1);
  EXPECT_TRUE(tuner.settled());
  ASSERT_GE(tuner.log().size(), 3);
  EXPECT_EQ(tuner.log()[1].text, "2 workers: 0.8 steps/s, 1 gave 1: back to 1");
  EXPECT_EQ(tuner.log()[2].before, 2);
  EXPECT_EQ(tuner.log()[2].after, 1);
  EXPECT_EQ(tuner.Limit(), "throughput: 2 workers finish no more");
}

// Steps of which each computes `share` of its time, without a core to wait for.
class Samples {
 public:
  explicit Samples(Tuner& tuner) : tuner_(tuner) {}

  // Lets 100 ms pass, in which running steps use `cores` together, or all they can.
  void Pass(double share, double cores = 1e9) {
    now_ += milliseconds(100);
    const double each = std::min(share, cores / static_cast<double>(used_.size()));
    for (double& used : used_) used += each * 0.1;
    // Steps compute while they start up.
    used_.resize(std::max<std::size_t>(used_.size(), tuner_.workers()), 0.1);
    tuner_.Update(now_, 100000, static_cast<unsigned>(used_.size()));
    std::vector<StepUsage> usage;
    for (const double used : used_) {
      usage.push_back({usage.size(), nanoseconds(std::llround(used * 1e9))});
    }
    tuner_.ObserveUsage(now_, usage);
  }
  nanoseconds now() const { return now_; }

 private:
  Tuner& tuner_;
  nanoseconds now_{0};
  std::vector<double> used_;
};

TEST(Tuner, FillsCoresAtOnceIfStepsCompute) {
  Tuner tuner({.initial = 4, .max = 1000, .cores = 16});
  Samples samples(tuner);
  for (int i = 0; i < 2; ++i) samples.Pass(1);
  EXPECT_EQ(tuner.workers(), 16);
  EXPECT_EQ(tuner.log().back().text, "4 workers: 4.0 of 16 cores busy: 16 to fill them");
  for (int i = 0; i < 20; ++i) samples.Pass(1, 16);
  EXPECT_EQ(tuner.workers(), 16);
  EXPECT_EQ(tuner.Limit(), "cores: 16.0 of 16 busy");
}

TEST(Tuner, SamplesOftenOnlyWhileThatMayTell) {
  Tuner tuner({.initial = 4, .max = 1000, .cores = 16});
  EXPECT_EQ(tuner.SampleInterval(), milliseconds(100));
  Samples samples(tuner);
  for (int i = 0; i < 100; ++i) samples.Pass(1, 16);
  EXPECT_EQ(tuner.SampleInterval(), seconds(1)) << "long steps";
  for (const auto& [length, interval] :
       {std::pair(100, 100), std::pair(600, 300), std::pair(60'000, 1000)}) {
    Tuner known({.initial = 4, .max = 1000, .cores = 16});
    known.OnStepFinished(seconds(1), {.duration = milliseconds(length)});
    EXPECT_EQ(known.SampleInterval(), milliseconds(interval));
  }
  EXPECT_EQ(Tuner({.initial = 4, .max = 8}).SampleInterval(), seconds(1)) << "no cores to fill";
}

TEST(Tuner, MultipliesWorkersThatWait) {
  Tuner tuner({.initial = 4, .max = 1000, .cores = 16});
  Samples samples(tuner);
  std::vector<unsigned> seen;
  for (int i = 0; i < 30; ++i) {
    if (seen.empty() || seen.back() != tuner.workers()) seen.push_back(tuner.workers());
    samples.Pass(0.1, 16);
  }
  // Headroom beyond 160, because waits coincide.
  EXPECT_EQ(seen, (std::vector<unsigned>{4, 8, 32, 128, 174}));
}

TEST(Tuner, MaxWorkersBoundsWorkersThatWait) {
  Tuner tuner({.initial = 4, .max = 50, .cores = 16});
  Samples samples(tuner);
  for (int i = 0; i < 30; ++i) samples.Pass(0.1);
  EXPECT_EQ(tuner.workers(), 50);
  EXPECT_EQ(tuner.Limit(), "--max-workers: 50");
}

TEST(Tuner, GoesBackIfMoreUseNoMoreOfTheCores) {
  Tuner tuner({.initial = 4, .max = 1000, .cores = 16});
  Samples samples(tuner);
  for (int i = 0; i < 30; ++i) samples.Pass(1, 1);  // one at a time
  EXPECT_EQ(tuner.workers(), 4);
  EXPECT_NE(tuner.log().back().text.find("hardly more than with 4: back to 4"), std::string::npos);
  EXPECT_EQ(tuner.Limit(), "throughput: more workers use no more of the cores");
}

TEST(Tuner, PausedStepsAreNoReasonForMore) {
  Tuner tuner({.initial = 4, .max = 1000, .cores = 16});
  tuner.Update(seconds(0), 1000, 4);
  for (int i = 0; i < 100; ++i) tuner.ObserveUsage(milliseconds(100 * i), {});
  EXPECT_EQ(tuner.workers(), 4);
}

TEST(Tuner, OtherProgramsLeaveFewerCores) {
  Tuner tuner({.initial = 4, .max = 1000, .cores = 16});
  tuner.SetCores(6);
  Samples samples(tuner);
  for (int i = 0; i < 20; ++i) samples.Pass(1, 6);
  EXPECT_EQ(tuner.workers(), 6);
}

TEST(Tuner, FixedRangeIsSettled) {
  Tuner tuner({.initial = 4, .min = 4, .max = 4});
  Works works(tuner);
  works.Steps(2000, 1);
  EXPECT_EQ(tuner.workers(), 4);
  EXPECT_TRUE(tuner.settled());
}

TEST(Tuner, StepsThatWaitForOthersAreALimit) {
  // Two may run, but only one does.
  Tuner tuner({.initial = 2, .min = 2, .max = 4});
  nanoseconds now = seconds(1);
  tuner.Update(now, 1000, 1);
  for (int i = 0; i < 40; ++i) {
    now += seconds(1);
    tuner.OnStepFinished(now, {.duration = seconds(1)});
    tuner.Update(now, 1000, 1);
  }
  EXPECT_EQ(tuner.workers(), 2);
  EXPECT_EQ(tuner.Limit(), "steps wait for something else, so fewer ran than may");
}

TEST(Tuner, FewerAreKeptIfTheyFinishAsMuch) {
  Tuner tuner({.initial = 8, .max = 32});
  Works works(tuner);
  for (int i = 0; i < 4000; ++i) works.Step(tuner.workers());  // one lock for all
  EXPECT_EQ(tuner.workers(), 1);
}

TEST(Tuner, NoTrialThatCostsTooMuchOfTheRest) {
  Tuner tuner({.initial = 8, .max = 8});
  Works works(tuner);
  works.Steps(100, 8, 40);
  EXPECT_EQ(tuner.workers(), 8);
  EXPECT_TRUE(tuner.settled());
  EXPECT_EQ(tuner.log().size(), 1);
  Tuner early({.initial = 8, .max = 8});
  Works longer(early);
  longer.Steps(100, 8, 1000);
  EXPECT_GT(early.log().size(), 2);
}

TEST(Tuner, LooksAgainAfterAChange) {
  Tuner tuner({.initial = 2, .max = 2});
  Works works(tuner);
  works.Steps(200, 1, 400);
  EXPECT_EQ(tuner.workers(), 2);
  ASSERT_TRUE(tuner.settled());
  const std::size_t before = tuner.log().size();
  for (int i = 0; i < 400; ++i) works.Step(tuner.workers() == 2 ? 4 : 1, 400);
  EXPECT_GT(tuner.log().size(), before);
  EXPECT_EQ(tuner.workers(), 1);
}

TEST(Tuner, StartsAtAQuarterOfTheCores) {
  EXPECT_EQ(InitialWorkers(0.01), 1);
  EXPECT_EQ(InitialWorkers(2), 1);
  EXPECT_EQ(InitialWorkers(8), 2);
  EXPECT_EQ(InitialWorkers(16), 4);
  EXPECT_EQ(WorkersThatShare(0.5), 1);
  EXPECT_EQ(WorkersThatShare(16), 16);
}

TEST(Tuner, OverloadHalvesAtOnce) {
  Tuner tuner({.initial = 8, .max = 16});
  Works works(tuner);
  works.Steps(3, 1);
  tuner.OnOverload(works.now(), OverloadSignal::kOutOfMemory);
  EXPECT_EQ(tuner.workers(), 4);
  EXPECT_EQ(tuner.log().back().text, "8 workers: a step was killed for memory: down to 4");
  tuner.OnOverload(works.now() + milliseconds(10),
                   OverloadSignal::kOutOfMemory);  // the same incident
  EXPECT_EQ(tuner.workers(), 4);
  tuner.OnOverload(works.now() + seconds(2), OverloadSignal::kPressureFull);
  EXPECT_EQ(tuner.workers(), 2);
  tuner.OnOverload(works.now() + seconds(4), OverloadSignal::kNoGpuMemory);
  tuner.OnOverload(works.now() + seconds(6), OverloadSignal::kNoGpuMemory);
  EXPECT_EQ(tuner.workers(), 1);
  EXPECT_EQ(tuner.log().back().text, "1 worker: a step ran out of GPU memory: stay at 1");
}

TEST(Tuner, HalvesAgainWhilePressureLasts) {
  Tuner tuner({.initial = 8, .max = 16});
  Works works(tuner);
  works.Steps(3, 1);
  for (int i = 0; i < 30; ++i) {
    tuner.OnOverload(works.now() + milliseconds(100 * i), OverloadSignal::kPressureFull);
  }
  EXPECT_EQ(tuner.workers(), 1);
}

TEST(Tuner, RecoversOnePerHealthyWindowBelowFailure) {
  Tuner tuner({.initial = 8, .max = 16});
  Works works(tuner);
  works.Steps(3, 1);
  tuner.OnOverload(works.now(), OverloadSignal::kOutOfMemory);
  std::vector<unsigned> seen = {tuner.workers()};
  for (int i = 0; i < 40; ++i) {
    works.Step(1);
    if (tuner.workers() != seen.back()) seen.push_back(tuner.workers());
    if (seen.back() == 7) break;
  }
  EXPECT_EQ(seen, (std::vector<unsigned>{4, 5, 6, 7}));
  EXPECT_EQ(tuner.log().back().text, "6 workers: no overload: one more");
  unsigned most = 0;
  for (int i = 0; i < 100; ++i) {
    works.Step(1);
    most = std::max(most, tuner.workers());
  }
  EXPECT_EQ(most, 7);
  for (int i = 0; i < 1000; ++i) {
    works.Step(1);
    most = std::max(most, tuner.workers());
  }
  EXPECT_GE(most, 8);  // retried eventually
}

TEST(Tuner, StarvedTrialIsReverted) {
  Tuner tuner({.initial = 2, .max = 16});
  nanoseconds now{0};
  tuner.Update(now, 10000, 2);
  for (int i = 0; i < 2000; ++i) {
    now += milliseconds(500);
    tuner.OnStepFinished(now, {.duration = seconds(1)});
    tuner.Update(now, 10000, 2);  // whatever the tuner allows
  }
  EXPECT_LE(tuner.workers(), 2);
  EXPECT_NE(tuner.log().back().text.find("steps wait for something else"), std::string::npos);
}

TEST(Tuner, TableHoldsMeasurements) {
  Tuner tuner({.initial = 1, .max = 2});
  EXPECT_TRUE(tuner.Table().empty());
  Works works(tuner);
  tuner.RecordMemory(100);
  tuner.RecordMemory(50);
  for (int i = 0; i < 700; ++i) works.Step(tuner.workers() == 1 ? 1 : 1.6);
  const auto table = tuner.Table();
  ASSERT_EQ(table.size(), 2);
  EXPECT_EQ(table[0].workers, 1);
  EXPECT_EQ(table[0].memory, 100);
  EXPECT_EQ(table[0].gain, 0);
  EXPECT_NEAR(table[0].rate, 1, 0.05);
  EXPECT_EQ(table[1].workers, 2);
  EXPECT_EQ(table[1].memory, std::nullopt);
  EXPECT_NEAR(table[1].gain, 0.25, 0.05);
  EXPECT_GT(table[1].steps, 0);
}

TEST(Tuner, StaysInBoundsOnRandomInput) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    const unsigned least = 1 + random() % 4;
    const unsigned most = least + random() % 20;
    const unsigned first = 1 + random() % 30;
    Tuner tuner({.initial = first, .min = least, .max = most, .cores = 1.0 * (random() % 8)});
    nanoseconds now{0};
    for (int i = 0; i < 3000; ++i) {
      now += milliseconds(random() % 300);
      switch (random() % 40) {
        case 0:
          tuner.OnOverload(now, static_cast<OverloadSignal>(random() % 3));
          break;
        case 2: {
          std::vector<StepUsage> usage;
          for (unsigned j = 0; j < tuner.workers(); ++j) {
            usage.push_back({random() % 50, milliseconds(random() % 1000)});
          }
          tuner.ObserveUsage(now, usage);
          break;
        }
        case 1:
          tuner.Update(now, random() % 50, random() % 30);
          break;
        default:
          tuner.OnStepFinished(now, {random() % 50, milliseconds(random() % 1000),
                                     milliseconds(random() % 1000), random() % 5});
          tuner.Update(now, 5000, random() % 4 == 0 ? random() % 30 : tuner.workers());
      }
      ASSERT_GE(tuner.workers(), least);
      ASSERT_LE(tuner.workers(), most);
      ASSERT_LE(tuner.log().size(), 1000);
    }
    for (const TunerRow& row : tuner.Table()) EXPECT_TRUE(std::isfinite(row.rate));
  }
}

}  // namespace tuner_test
}  // namespace reveza::jobs
