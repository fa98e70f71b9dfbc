#include "runner/decide/tuner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace reveza::runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Workers that each make a step of `each` seconds at a time, evenly shifted.
class Works {
 public:
  explicit Works(Tuner& tuner) : tuner_(tuner) { tuner_.Pass(now_, 100000, tuner_.workers()); }

  // One step ends, and the next begins.
  void Step(double each, std::uint64_t remaining = 100000) {
    const auto length = nanoseconds(std::llround(each * 1e9));
    now_ += length / tuner_.workers();
    tuner_.Finished(now_, length);
    tuner_.Pass(now_, remaining, tuner_.workers());
  }
  void Steps(int count, double each, std::uint64_t remaining = 100000) {
    for (int i = 0; i < count; ++i) Step(each, remaining);
  }
  nanoseconds now() const { return now_; }

 private:
  Tuner& tuner_;
  nanoseconds now_{seconds(1)};
};

TEST(Tuner, BeginsWithTheFirstWithinItsBounds) {
  EXPECT_EQ(Tuner({.first = 3, .most = 8}).workers(), 3);
  EXPECT_EQ(Tuner({.first = 30, .most = 8}).workers(), 8);
  EXPECT_EQ(Tuner({.first = 1, .least = 2, .most = 8}).workers(), 2);
  EXPECT_EQ(Tuner({.first = 0, .least = 0, .most = 0}).workers(), 1);
  EXPECT_FALSE(Tuner({.first = 3, .most = 8}).settled());
}

TEST(Tuner, TriesMoreAndSaysWhatCameOfIt) {
  Tuner tuner({.first = 1, .most = 4});
  Works works(tuner);
  works.Steps(20, 1);  // as long with two: twice the throughput
  ASSERT_GE(tuner.log().size(), 3);
  EXPECT_EQ(tuner.log()[0].sentence, "2 workers: tried");
  EXPECT_EQ(tuner.log()[0].before, 1);
  EXPECT_EQ(tuner.log()[0].after, 2);
  EXPECT_EQ(tuner.log()[1].sentence, "2 workers: 2 steps/s, 1 gave 1: kept");
  EXPECT_EQ(tuner.log()[2].sentence, "4 workers: tried");
  EXPECT_GE(tuner.workers(), 2);
}

TEST(Tuner, GoesBackFromWhatIsWorse) {
  Tuner tuner({.first = 1, .most = 2});
  Works works(tuner);
  for (int i = 0; i < 60; ++i) works.Step(tuner.workers() == 1 ? 1 : 2.5);
  EXPECT_EQ(tuner.workers(), 1);
  EXPECT_TRUE(tuner.settled());
  ASSERT_GE(tuner.log().size(), 3);
  EXPECT_EQ(tuner.log()[1].sentence, "2 workers: 0.8 steps/s, 1 gave 1: back to 1");
  EXPECT_EQ(tuner.log()[1].before, 2);
  EXPECT_EQ(tuner.log()[1].after, 1);
  EXPECT_EQ(tuner.log()[2].sentence, "1 worker: 1 steps/s, nothing better beside it: stay");
}

TEST(Tuner, HasNothingToFindWhereOnlyOneNumberIsAllowed) {
  Tuner tuner({.first = 4, .least = 4, .most = 4});
  Works works(tuner);
  works.Steps(2000, 1);
  EXPECT_EQ(tuner.workers(), 4);
  EXPECT_TRUE(tuner.settled());
}

TEST(Tuner, SaysWhyItMeasuredOneNumberOnly) {
  Tuner bound({.first = 1, .most = 1});
  Works(bound).Steps(40, 1);
  ASSERT_EQ(bound.Table().size(), 1);
  EXPECT_EQ(bound.WhyNoOther(), "no more than 1 may run at once");

  Tuner brief({.first = 1, .most = 4});
  Works works(brief);
  while (brief.Table().empty()) works.Step(1);
  EXPECT_EQ(brief.WhyNoOther(), "it has just been measured");
  works.Steps(2, 1, 3);
  ASSERT_EQ(brief.Table().size(), 1);
  EXPECT_EQ(brief.WhyNoOther(), "fewer than 4 steps were left for each by then");
  brief.Hard(works.now() + seconds(9), HardSignal::kNoGpuMemory);
  EXPECT_EQ(brief.WhyNoOther(), "a step was refused memory of the GPU");

  // Two may run, and one does.
  Tuner starved({.first = 2, .least = 2, .most = 4});
  nanoseconds now = seconds(1);
  starved.Pass(now, 1000, 1);
  for (int i = 0; i < 40; ++i) {
    now += seconds(1);
    starved.Finished(now, seconds(1));
    starved.Pass(now, 1000, 1);
  }
  ASSERT_EQ(starved.Table().size(), 1);
  EXPECT_EQ(starved.WhyNoOther(), "more did not run at once: steps waited for something else");
}

TEST(Tuner, LeapsDownWhereMoreIsNotBetter) {
  Tuner tuner({.first = 8, .most = 32});
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

TEST(Tuner, WhatWasMeasuredWithoutKnowingWhatIsTypicalDoesNotCount) {
  // The first steps are warm-up: a tenth of what all others take.
  Tuner tuner({.first = 2, .most = 4});
  Works works(tuner);
  works.Steps(4, 0.1);
  works.Steps(26, 1);
  ASSERT_FALSE(tuner.log().empty());
  EXPECT_EQ(tuner.log()[0].sentence, "4 workers: tried");
  ASSERT_GE(tuner.log().size(), 2);
  EXPECT_EQ(tuner.log()[1].sentence, "4 workers: 4 steps/s, 2 gave 2: kept");
}

TEST(Tuner, BeginsWithHalfOfTheCores) {
  EXPECT_EQ(FirstWorkers(0.01), 1);
  EXPECT_EQ(FirstWorkers(2), 1);
  EXPECT_EQ(FirstWorkers(4), 2);
  EXPECT_EQ(FirstWorkers(16), 8);
}

TEST(Tuner, HalvesAtOnceWhenMemoryFails) {
  Tuner tuner({.first = 8, .most = 16});
  Works works(tuner);
  works.Steps(3, 1);
  tuner.Hard(works.now(), HardSignal::kOutOfMemory);
  EXPECT_EQ(tuner.workers(), 4);
  EXPECT_EQ(tuner.log().back().sentence, "8 workers: a step was killed for memory: down to 4");
  tuner.Hard(works.now() + milliseconds(10), HardSignal::kOutOfMemory);  // of the same incident
  EXPECT_EQ(tuner.workers(), 4);
  tuner.Hard(works.now() + seconds(2), HardSignal::kPressureFull);
  EXPECT_EQ(tuner.workers(), 2);
  tuner.Hard(works.now() + seconds(4), HardSignal::kNoGpuMemory);
  tuner.Hard(works.now() + seconds(6), HardSignal::kNoGpuMemory);
  EXPECT_EQ(tuner.workers(), 1);
  EXPECT_EQ(tuner.log().back().sentence,
            "1 worker: a step was refused memory of the GPU: stay at 1");
}

TEST(Tuner, HalvesAgainWhilePressureLasts) {
  Tuner tuner({.first = 8, .most = 16});
  Works works(tuner);
  works.Steps(3, 1);
  for (int i = 0; i < 30; ++i) {
    tuner.Hard(works.now() + milliseconds(100 * i), HardSignal::kPressureFull);
  }
  EXPECT_EQ(tuner.workers(), 1);
}

TEST(Tuner, AddsOneAfterEachHealthyWindowUpToOneLessThanFailed) {
  Tuner tuner({.first = 8, .most = 16});
  Works works(tuner);
  works.Steps(3, 1);
  tuner.Hard(works.now(), HardSignal::kOutOfMemory);
  std::vector<unsigned> seen = {tuner.workers()};
  for (int i = 0; i < 40; ++i) {
    works.Step(1);
    if (tuner.workers() != seen.back()) seen.push_back(tuner.workers());
    if (seen.back() == 7) break;
  }
  EXPECT_EQ(seen, (std::vector<unsigned>{4, 5, 6, 7}));
  EXPECT_EQ(tuner.log().back().sentence, "6 workers: all went well: one more");
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
  EXPECT_GE(most, 8);  // tried again after long
}

TEST(Tuner, ChangesNothingWhenFewStepsAreLeft) {
  Tuner tuner({.first = 4, .most = 16});
  Works works(tuner);
  works.Steps(100, 1, 15);
  EXPECT_EQ(tuner.workers(), 4);
  EXPECT_TRUE(tuner.settled());
  ASSERT_EQ(tuner.log().size(), 1);
  EXPECT_EQ(tuner.log()[0].sentence,
            "4 workers: fewer than 4 steps are left for each: nothing is changed any more");
  // Steps were added.
  works.Steps(30, 1);
  EXPECT_GT(tuner.workers(), 4);
}

TEST(Tuner, GoesBackWhenTheEndComesDuringATry) {
  Tuner tuner({.first = 2, .most = 3});
  Works works(tuner);
  while (tuner.workers() == 2) works.Step(1);
  works.Step(4, 5);
  EXPECT_EQ(tuner.workers(), 2);
}

TEST(Tuner, DoesNotAskForMoreThanMayRun) {
  Tuner tuner({.first = 2, .most = 16});
  nanoseconds now{0};
  tuner.Pass(now, 10000, 2);
  for (int i = 0; i < 2000; ++i) {
    now += milliseconds(500);
    tuner.Finished(now, seconds(1));
    tuner.Pass(now, 10000, 2);  // whatever the tuner allows
  }
  EXPECT_LE(tuner.workers(), 4);
  EXPECT_NE(tuner.log()[1].sentence.find("steps wait for something else"), std::string::npos);
}

TEST(Tuner, KeepsATableOfWhatItMeasured) {
  Tuner tuner({.first = 1, .most = 2});
  EXPECT_TRUE(tuner.Table().empty());
  Works works(tuner);
  tuner.Memory(100);
  tuner.Memory(50);
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

TEST(Tuner, DoesTheSameWithTheSameSeed) {
  const auto run = [](std::uint64_t seed) {
    Tuner tuner({.first = 2, .most = 4, .seed = seed});
    Works works(tuner);
    for (int i = 0; i < 5000; ++i) works.Step(0.1 + 0.3 * tuner.workers());
    std::string text;
    for (const Decision& decision : tuner.log()) text += decision.sentence + "\n";
    return text;
  };
  EXPECT_EQ(run(1), run(1));
}

TEST(Tuner, StaysWithinItsBoundsWhateverItIsTold) {
  std::mt19937 random(11);
  for (int round = 0; round < 50; ++round) {
    const unsigned least = 1 + random() % 4;
    const unsigned most = least + random() % 20;
    const unsigned first = 1 + random() % 30;
    Tuner tuner({.first = first, .least = least, .most = most, .seed = random()});
    nanoseconds now{0};
    for (int i = 0; i < 3000; ++i) {
      now += milliseconds(random() % 300);
      switch (random() % 40) {
        case 0:
          tuner.Hard(now, static_cast<HardSignal>(random() % 3));
          break;
        case 1:
          tuner.Pass(now, random() % 50, random() % 30);
          break;
        default:
          tuner.Finished(now, milliseconds(random() % 1000), random() % 3, random() % 5);
          tuner.Pass(now, 5000, random() % 4 == 0 ? random() % 30 : tuner.workers());
      }
      ASSERT_GE(tuner.workers(), least);
      ASSERT_LE(tuner.workers(), most);
      ASSERT_LE(tuner.log().size(), 1000);
    }
    for (const TunerRow& row : tuner.Table()) EXPECT_TRUE(std::isfinite(row.rate));
  }
}

}  // namespace
}  // namespace reveza::runner
