#include "scheduler/slices.h"

#include <gtest/gtest.h>

namespace reveza::scheduler {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Two jobs of one client on GPU 0; job 1 is in its turn since second 10.
Books Example() {
  Books books{Config{}};
  books.gpus[0].config = GpuConfig{16 * kGiB, 16 * kGiB, 64 * kMiB};
  books.now = seconds(10);
  for (const JobId id : {1, 2}) {
    Job& job = books.jobs[id];
    job.id = id;
    Client& client = job.clients[id];
    client.id = client.job = id;
    client.gpus[0].books.swapped = 10'000'000'000;
    books.job_of[id] = id;
  }
  books.jobs[1].phase = Phase::kIn;
  books.jobs[1].in_turn = true;
  books.jobs[1].turn_start = books.now;
  return books;
}

TEST(Slices, AreEstimatedFromTheLinkUntilAHandoverWasMeasured) {
  Books books = Example();
  EXPECT_EQ(HandoverCost(books, 0), milliseconds(500));
  EXPECT_EQ(SliceLength(books, books.jobs[1]), seconds(10));
}

TEST(Slices, FollowTheMeasuredHandover) {
  Books books = Example();
  RecordHandover(books, books.jobs[1], milliseconds(100));
  EXPECT_EQ(HandoverCost(books, 0), milliseconds(100));
  EXPECT_EQ(SliceLength(books, 0), seconds(2));
  RecordHandover(books, books.jobs[1], milliseconds(200));
  EXPECT_EQ(HandoverCost(books, 0), milliseconds(130));
}

TEST(Slices, FollowWhatIsAtStakeNowWhereTheMeasuredHandoversMovedLittle) {
  Books books = Example();
  books.jobs[1].coming_in[0] = kGiB;
  RecordHandover(books, books.jobs[1], milliseconds(20));
  EXPECT_EQ(HandoverCost(books, 0), milliseconds(20));  // only one of them runs or wants to
  books.jobs[2].clients[2].wants = true;
  // 20 GB less 16 GiB must move, at 20 ms a GiB.
  const double bytes = 20e9 - 16.0 * kGiB;
  EXPECT_NEAR(std::chrono::duration<double>(HandoverCost(books, 0)).count(), bytes / kGiB * 0.020,
              1e-6);
  // No more than the larger of them has.
  books.gpus[0].config.budget = 4 * kGiB;
  EXPECT_NEAR(std::chrono::duration<double>(HandoverCost(books, 0)).count(), 10e9 / kGiB * 0.020,
              1e-6);
}

TEST(Slices, TheTimeOfAByteIsThatOfTheLinkUntilALargeHandoverWasMeasured) {
  Books books = Example();
  books.jobs[2].clients[2].wants = true;
  books.jobs[1].coming_in[0] = 256 * kMiB;
  RecordHandover(books, books.jobs[1], milliseconds(20));
  EXPECT_NEAR(std::chrono::duration<double>(HandoverCost(books, 0)).count(),
              (20e9 - 16.0 * kGiB) / 20e9, 1e-6);
}

TEST(Slices, KeepToFloorAndCeiling) {
  Books books = Example();
  RecordHandover(books, books.jobs[1], milliseconds(1));
  EXPECT_EQ(SliceLength(books, 0), books.config.slice_floor);
  books.gpus[0].handover = seconds(10);
  EXPECT_EQ(SliceLength(books, 0), books.config.slice_ceiling);
  books.config.slice_floor = seconds(40);  // a floor above the ceiling wins
  EXPECT_EQ(SliceLength(books, 0), seconds(40));
}

TEST(Slices, AShortTurnIsWorthWhatItsSwapInCosts) {
  Books books = Example();
  EXPECT_EQ(ShortestUsefulTurn(books, books.jobs[2]), seconds(10));
  books.jobs[2].clients[2].gpus[0].credit = 10'000'000'000;
  EXPECT_EQ(ShortestUsefulTurn(books, books.jobs[2]), books.config.slice_floor);
}

TEST(Slices, AJobMayBeClosedWhenItsSliceIsOverOrItIsIdleAndItDrains) {
  Books books = Example();
  Job& job = books.jobs[1];
  EXPECT_EQ(ClosableAt(books, job), seconds(20));
  job.filling_in_for = seconds(3);
  EXPECT_EQ(ClosableAt(books, job), seconds(13));
  job.clients[1].idle = true;
  EXPECT_LE(ClosableAt(books, job), books.now);
  job.closable_at = seconds(12);
  EXPECT_EQ(ClosableAt(books, job), seconds(12));
  EXPECT_EQ(ClosableAt(books, books.jobs[2]), Time::max());
}

TEST(Slices, IdleForAsLongAsAHandoverButAtLeastFiveMilliseconds) {
  Books books = Example();
  RecordHandover(books, books.jobs[1], milliseconds(100));
  EXPECT_EQ(IdleAfter(books, books.jobs[1]), milliseconds(100));
  books.gpus[0].handover = milliseconds(1);
  EXPECT_EQ(IdleAfter(books, books.jobs[1]), milliseconds(5));
}

}  // namespace
}  // namespace reveza::scheduler
