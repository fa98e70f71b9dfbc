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
    tuner_.OnStepFinished(now_, length);
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

TEST(Tuner, TriesMoreAndLogsOutcome) {
  Tuner tuner({.initial = 1, .max = 4});
  Works works(tuner);
  works.Steps(20, 1);  // the same duration with two: twice the throughput
  ASSERT_GE(tuner.log().size(), 3);
  EXPECT_EQ(tuner.log()[0].text, "2 workers: tried");
  EXPECT_EQ(tuner.log()[0].before, 1);
  EXPECT_EQ(tuner.log()[0].after, 2);
  EXPECT_EQ(tuner.log()[1].text, "2 workers: 2 steps/s, 1 gave 1: kept");
  EXPECT_EQ(tuner.log()[2].text, "4 workers: tried");
  EXPECT_GE(tuner.workers(), 2);
}

TEST(Tuner, RevertsWorseNumber) {
  Tuner tuner({.initial = 1, .max = 2});
  Works works(tuner);
  for (int i = 0; i < 60; ++i) works.Step(tuner.workers() == 1 ? 1 : 2.5);
  EXPECT_EQ(tuner.workers(), 1);
  EXPECT_TRUE(tuner.settled());
  ASSERT_GE(tuner.log().size(), 3);
  EXPECT_EQ(tuner.log()[1].text, "2 workers: 0.8 steps/s, 1 gave 1: back to 1");
  EXPECT_EQ(tuner.log()[1].before, 2);
  EXPECT_EQ(tuner.log()[1].after, 1);
  EXPECT_EQ(tuner.log()[2].text, "1 worker: 1 steps/s, nothing better beside it: stay");
}

TEST(Tuner, FixedRangeIsSettled) {
  Tuner tuner({.initial = 4, .min = 4, .max = 4});
  Works works(tuner);
  works.Steps(2000, 1);
  EXPECT_EQ(tuner.workers(), 4);
  EXPECT_TRUE(tuner.settled());
}

TEST(Tuner, SingleCountReasonNamesCause) {
  Tuner bound({.initial = 1, .max = 1});
  Works(bound).Steps(40, 1);
  ASSERT_EQ(bound.Table().size(), 1);
  EXPECT_EQ(bound.SingleCountReason(), "at most 1 may run at once");

  Tuner brief({.initial = 1, .max = 4});
  Works works(brief);
  while (brief.Table().empty()) works.Step(1);
  EXPECT_EQ(brief.SingleCountReason(), "the first measurement has just finished");
  works.Steps(2, 1, 3);
  ASSERT_EQ(brief.Table().size(), 1);
  EXPECT_EQ(brief.SingleCountReason(), "fewer than 4 steps per worker were left by then");
  brief.OnOverload(works.now() + seconds(9), OverloadSignal::kNoGpuMemory);
  EXPECT_EQ(brief.SingleCountReason(), "a step ran out of GPU memory");

  // Two may run, but only one does.
  Tuner starved({.initial = 2, .min = 2, .max = 4});
  nanoseconds now = seconds(1);
  starved.Update(now, 1000, 1);
  for (int i = 0; i < 40; ++i) {
    now += seconds(1);
    starved.OnStepFinished(now, seconds(1));
    starved.Update(now, 1000, 1);
  }
  ASSERT_EQ(starved.Table().size(), 1);
  EXPECT_EQ(starved.SingleCountReason(),
            "steps were waiting for something else, so more never ran at once");
}

TEST(Tuner, LeapsDownIfMoreIsNotBetter) {
  Tuner tuner({.initial = 8, .max = 32});
  Works works(tuner);
  for (int i = 0; i < 600; ++i) works.Step(tuner.workers());  // one lock for all
  EXPECT_EQ(tuner.workers(), 1);
  std::vector<unsigned> tried = {8};
  for (const Decision& decision : tuner.log()) {
    if (decision.after != tried.back()) tried.push_back(decision.after);
    if (tried.back() == 1) break;
  }
  EXPECT_EQ(tried, (std::vector<unsigned>{8, 16, 8, 4, 2, 1}));
}

TEST(Tuner, WarmUpMeasurementsAreDiscarded) {
  // The first steps are ten times as fast as the others.
  Tuner tuner({.initial = 2, .max = 4});
  Works works(tuner);
  works.Steps(4, 0.1);
  works.Steps(26, 1);
  ASSERT_FALSE(tuner.log().empty());
  EXPECT_EQ(tuner.log()[0].text, "4 workers: tried");
  ASSERT_GE(tuner.log().size(), 2);
  EXPECT_EQ(tuner.log()[1].text, "4 workers: 4 steps/s, 2 gave 2: kept");
}

TEST(Tuner, StartsAtHalfTheCores) {
  EXPECT_EQ(InitialWorkers(0.01), 1);
  EXPECT_EQ(InitialWorkers(2), 1);
  EXPECT_EQ(InitialWorkers(4), 2);
  EXPECT_EQ(InitialWorkers(16), 8);
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

TEST(Tuner, FreezesNearTheEnd) {
  Tuner tuner({.initial = 4, .max = 16});
  Works works(tuner);
  works.Steps(100, 1, 15);
  EXPECT_EQ(tuner.workers(), 4);
  EXPECT_TRUE(tuner.settled());
  ASSERT_EQ(tuner.log().size(), 1);
  EXPECT_EQ(tuner.log()[0].text,
            "4 workers: fewer than 4 steps per worker left: no further changes");
  // Steps were appended.
  works.Steps(30, 1);
  EXPECT_GT(tuner.workers(), 4);
}

TEST(Tuner, FreezeRevertsUndecidedTrial) {
  Tuner tuner({.initial = 2, .max = 3});
  Works works(tuner);
  while (tuner.workers() == 2) works.Step(1);
  works.Step(4, 5);
  EXPECT_EQ(tuner.workers(), 2);
}

TEST(Tuner, StarvedTrialIsReverted) {
  Tuner tuner({.initial = 2, .max = 16});
  nanoseconds now{0};
  tuner.Update(now, 10000, 2);
  for (int i = 0; i < 2000; ++i) {
    now += milliseconds(500);
    tuner.OnStepFinished(now, seconds(1));
    tuner.Update(now, 10000, 2);  // whatever the tuner allows
  }
  EXPECT_LE(tuner.workers(), 4);
  EXPECT_NE(tuner.log()[1].text.find("steps wait for something else"), std::string::npos);
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

TEST(Tuner, IsDeterministicForSeed) {
  const auto run = [](std::uint64_t seed) {
    Tuner tuner({.initial = 2, .max = 4, .seed = seed});
    Works works(tuner);
    for (int i = 0; i < 5000; ++i) works.Step(0.1 + 0.3 * tuner.workers());
    std::string text;
    for (const Decision& decision : tuner.log()) text += decision.text + "\n";
    return text;
  };
  EXPECT_EQ(run(1), run(1));
}

TEST(Tuner, StaysInBoundsOnRandomInput) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    const unsigned least = 1 + random() % 4;
    const unsigned most = least + random() % 20;
    const unsigned first = 1 + random() % 30;
    Tuner tuner({.initial = first, .min = least, .max = most, .seed = random()});
    nanoseconds now{0};
    for (int i = 0; i < 3000; ++i) {
      now += milliseconds(random() % 300);
      switch (random() % 40) {
        case 0:
          tuner.OnOverload(now, static_cast<OverloadSignal>(random() % 3));
          break;
        case 1:
          tuner.Update(now, random() % 50, random() % 30);
          break;
        default:
          tuner.OnStepFinished(now, milliseconds(random() % 1000), random() % 5);
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
