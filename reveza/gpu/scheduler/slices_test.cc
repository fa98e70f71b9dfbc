#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/passes.h"
#include "reveza/gpu/scheduler/scope.h"

namespace reveza::scheduler {
namespace slices_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Two jobs of one client each on GPU 0; job 1 is in its turn since t = 10 s.
Ledger Example() {
  Ledger ledger{Config{}};
  ledger.gpus[0].config = GpuConfig{16 * kGiB, 16 * kGiB, 64 * kMiB};
  ledger.now = seconds(10);
  for (const JobId id : {1, 2}) {
    Job& job = ledger.jobs[id];
    job.id = id;
    Client& client = job.clients[id];
    client.id = client.job = id;
    client.gpus[0].footprint.swapped = 10'000'000'000;
    ledger.job_of[id] = id;
    Register(ledger, job);
  }
  ledger.jobs[1].phase = Phase::kRunning;
  ledger.jobs[1].in_turn = true;
  ledger.jobs[1].slice_start = ledger.now;
  return ledger;
}

TEST(Slices, AreEstimatedFromLinkBeforeFirstHandover) {
  Ledger ledger = Example();
  EXPECT_EQ(HandoverCost(ledger, 0), milliseconds(500));
  EXPECT_EQ(SliceLength(ledger, ledger.jobs[1]), seconds(10));
}

TEST(Slices, FollowMeasuredHandovers) {
  Ledger ledger = Example();
  RecordHandover(ledger, ledger.jobs[1], milliseconds(100));
  EXPECT_EQ(HandoverCost(ledger, 0), milliseconds(100));
  EXPECT_EQ(SliceLength(ledger, 0), seconds(2));
  RecordHandover(ledger, ledger.jobs[1], milliseconds(200));
  EXPECT_EQ(HandoverCost(ledger, 0), milliseconds(130));
}

TEST(Slices, CoverPresentFootprintsAfterSmallHandovers) {
  Ledger ledger = Example();
  ledger.jobs[1].entry_deficit[0] = kGiB;
  RecordHandover(ledger, ledger.jobs[1], milliseconds(20));
  EXPECT_EQ(HandoverCost(ledger, 0), milliseconds(20));  // only one competes
  ledger.jobs[2].clients[2].wants_gate = true;
  // 20 GB less 16 GiB must move at 20 ms per GiB.
  const double bytes = 20e9 - 16.0 * kGiB;
  EXPECT_NEAR(std::chrono::duration<double>(HandoverCost(ledger, 0)).count(), bytes / kGiB * 0.020,
              1e-6);
  // At most the larger footprint.
  ledger.gpus[0].config.budget = 4 * kGiB;
  EXPECT_NEAR(std::chrono::duration<double>(HandoverCost(ledger, 0)).count(), 10e9 / kGiB * 0.020,
              1e-6);
}

TEST(Slices, TimePerByteNeedsLargeHandover) {
  Ledger ledger = Example();
  ledger.jobs[2].clients[2].wants_gate = true;
  ledger.jobs[1].entry_deficit[0] = 256 * kMiB;
  RecordHandover(ledger, ledger.jobs[1], milliseconds(20));
  EXPECT_NEAR(std::chrono::duration<double>(HandoverCost(ledger, 0)).count(),
              (20e9 - 16.0 * kGiB) / 20e9, 1e-6);
}

TEST(Slices, AreClampedToFloorAndCeiling) {
  Ledger ledger = Example();
  RecordHandover(ledger, ledger.jobs[1], milliseconds(1));
  EXPECT_EQ(SliceLength(ledger, 0), ledger.config.slice_floor);
  ledger.gpus[0].handover = seconds(10);
  EXPECT_EQ(SliceLength(ledger, 0), ledger.config.slice_ceiling);
  ledger.config.slice_floor = seconds(40);  // a floor above the ceiling takes precedence
  EXPECT_EQ(SliceLength(ledger, 0), seconds(40));
}

TEST(Slices, ShortestUsefulTurnAmortisesSwapIn) {
  Ledger ledger = Example();
  EXPECT_EQ(ShortestUsefulTurn(ledger, ledger.jobs[2]), seconds(10));
  ledger.jobs[2].clients[2].gpus[0].credit = 10'000'000'000;
  EXPECT_EQ(ShortestUsefulTurn(ledger, ledger.jobs[2]), ledger.config.slice_floor);
}

TEST(Slices, ClosableAfterSliceOrIdleAndDrainBackoff) {
  Ledger ledger = Example();
  Job& job = ledger.jobs[1];
  EXPECT_EQ(ClosableAt(ledger, job), seconds(20));
  job.backfill_turn = seconds(3);
  EXPECT_EQ(ClosableAt(ledger, job), seconds(13));
  job.clients[1].idle = true;
  EXPECT_LE(ClosableAt(ledger, job), ledger.now);
  job.closable_at = seconds(12);
  EXPECT_EQ(ClosableAt(ledger, job), seconds(12));
  EXPECT_EQ(ClosableAt(ledger, ledger.jobs[2]), Time::max());
}

TEST(Slices, IdleAfterIsHandoverCostButAtLeastFiveMilliseconds) {
  Ledger ledger = Example();
  RecordHandover(ledger, ledger.jobs[1], milliseconds(100));
  EXPECT_EQ(IdleAfter(ledger, ledger.jobs[1]), milliseconds(100));
  ledger.gpus[0].handover = milliseconds(1);
  EXPECT_EQ(IdleAfter(ledger, ledger.jobs[1]), milliseconds(5));
}

TEST(Slices, JobsThatSleepLongGiveThemUpSooner) {
  Ledger ledger = Example();
  Job& job = ledger.jobs[2];
  RecordHandover(ledger, ledger.jobs[1], milliseconds(400));
  const auto sleep = [&](Time length) {
    job.asleep_since = ledger.now;
    ledger.now += length;
    job.clients[2].wants_gate = true;
    BeginWait(ledger, job);
    EXPECT_EQ(job.waiting_since, ledger.now);
    job.clients[2].wants_gate = false;
    job.waiting_since.reset();
  };
  const Time cost = HandoverCost(ledger, job);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(IdleAfter(ledger, job), cost) << i;
    sleep(cost);
  }
  EXPECT_EQ(IdleAfter(ledger, job), cost / 8);
  sleep(cost - milliseconds(1));
  EXPECT_EQ(IdleAfter(ledger, job), cost) << "a short one";
}

}  // namespace slices_test
}  // namespace reveza::scheduler
