#include "reveza/gpu/scheduler/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "reveza/gpu/scheduler/scope.h"

namespace reveza::scheduler {
namespace ledger_test {

// With more members than are stored in place, and fewer again.
TEST(JobSetTest, IsSortedAndUnique) {
  std::vector<Job> jobs(20);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].id = i;
  JobSet set;
  std::set<JobId> expected;
  const auto verify = [&] {
    ASSERT_EQ(set.size(), expected.size());
    EXPECT_TRUE(std::ranges::equal(set, expected, {}, &Job::id));
    for (const Job& job : jobs) EXPECT_EQ(set.contains(job.id), expected.contains(job.id));
    EXPECT_EQ(set.empty(), expected.empty());
  };
  for (std::size_t step = 0; step < 40; ++step) {
    set.insert(jobs[step * 7 % 20]);
    expected.insert(step * 7 % 20);
    verify();
  }
  for (std::size_t step = 0; step < 40; ++step) {
    set.erase(jobs[step * 3 % 20]);
    expected.erase(step * 3 % 20);
    verify();
    const JobSet copy = set;
    EXPECT_TRUE(std::ranges::equal(copy, set));
  }
}

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() {
    ledger_.gpus[0].config = GpuConfig{1000, 1000, 1};
    Add(1, Footprint{300, 100, 20, 30}, 350);
    Add(2, Footprint{0, 500, 0, 40}, 40);
  }

  void Add(ClientId id, const Footprint& footprint, Bytes credit) {
    Job& job = ledger_.jobs[id];
    job.id = id;
    Client& client = job.clients[id];
    client.id = client.job = id;
    client.gpus[0].footprint = footprint;
    client.gpus[0].credit = credit;
    client.gpus[0].backed = footprint.Swappable();
    ledger_.job_of[id] = id;
    Register(ledger_, job);
  }
  Client& Of(ClientId id) { return *ledger_.Find(id); }

  Ledger ledger_{Config{}};
};

TEST_F(LedgerTest, SumsCredit) {
  EXPECT_EQ(ledger_.OutstandingCredit(0), 390u);
  EXPECT_EQ(ledger_.Free(0), 610);
  ledger_.gpus[0].external = 700;
  EXPECT_EQ(ledger_.Free(0), -90);
}

TEST_F(LedgerTest, ClaimIsMaximumOfNeedAndCredit) {
  EXPECT_EQ(Ledger::Claim(Of(1), 0), 450u);
  Of(1).gpus[0].credit = 600;
  EXPECT_EQ(Ledger::Claim(Of(1), 0), 600u);
  EXPECT_EQ(Ledger::Claim(Of(1), 5), 0u);
}

TEST_F(LedgerTest, FixedMemoryIsNotEvictable) {
  EXPECT_EQ(ledger_.Fixed(Of(1), 0), 50u);
  EXPECT_EQ(ledger_.Evictable(Of(1), 0), 300u);
  Of(1).gpus[0].pinned_in_flight = 100;
  EXPECT_EQ(ledger_.Evictable(Of(1), 0), 200u);
  Of(1).resident_only = true;
  EXPECT_EQ(ledger_.Evictable(Of(1), 0), 0u);
  EXPECT_EQ(ledger_.Fixed(Of(1), 0), 450u);
}

TEST_F(LedgerTest, DemandIsEntryNeedOfActiveJobsPlusFixedMemoryOfOthers) {
  EXPECT_EQ(ledger_.Demand(0, {}), 90u);
  JobSet active(ledger_.jobs[1]);
  EXPECT_EQ(ledger_.Demand(0, active), 490u);
  active.insert(ledger_.jobs[2]);
  EXPECT_EQ(ledger_.Demand(0, active), 990u);
  EXPECT_TRUE(ledger_.Fits(0, active));
  ledger_.gpus[0].external = 11;
  EXPECT_FALSE(ledger_.Fits(0, active));
  EXPECT_TRUE(ledger_.CanRunAlone(ledger_.jobs[1]));
  ledger_.gpus[0].external = 600;
  EXPECT_FALSE(ledger_.CanRunAlone(ledger_.jobs[1]));
}

TEST_F(LedgerTest, PendingPinnedGrowthCountsOnEntry) {
  ledger_.Add(PendingGrowth{1, 1, 1, 0, GrowthKind::kPinned, 60, Time(0), false, Obstacle::kNone});
  EXPECT_EQ(ledger_.EntryNeed(ledger_.jobs[1], 0), 510u);
  EXPECT_TRUE(ledger_.WantsToRun(ledger_.jobs[1]));
  ledger_.growths.back().obstacle = Obstacle::kFixedMemory;
  EXPECT_EQ(ledger_.EntryNeed(ledger_.jobs[1], 0), 450u);
  EXPECT_FALSE(ledger_.WantsToRun(ledger_.jobs[1]));
}

TEST_F(LedgerTest, FullyResidentRequiresNothingSwappedAndFullCredit) {
  EXPECT_FALSE(Ledger::FullyResident(Of(1)));
  Of(1).gpus[0].footprint = Footprint{400, 0, 20, 30};
  EXPECT_FALSE(Ledger::FullyResident(Of(1)));
  Of(1).gpus[0].credit = 450;
  EXPECT_TRUE(Ledger::FullyResident(Of(1)));
  Of(1).gpus[0].evict_serial = 1;
  EXPECT_FALSE(Ledger::FullyResident(Of(1)));
}

TEST_F(LedgerTest, EvictableWithinRespectsFreeHostMemory) {
  Bytes host = 1000;
  EXPECT_EQ(Ledger::EvictableWithin(Of(1), 300, 0, 1, host), 300u);
  EXPECT_EQ(host, 600u);  // 100 were swapped already
  host = 150;
  EXPECT_EQ(Ledger::EvictableWithin(Of(1), 300, 0, 1, host), 50u);
  EXPECT_EQ(host, 0u);
  host = 150;
  EXPECT_EQ(Ledger::EvictableWithin(Of(1), 300, 0, 40, host), 40u);  // whole pieces
  host = 0;
  EXPECT_EQ(Ledger::EvictableWithin(Of(1), 300, 0, 1, host), 0u);
  Of(1).host_reserved = 400;
  EXPECT_EQ(Ledger::EvictableWithin(Of(1), 300, 0, 1, host), 300u);
}

TEST_F(LedgerTest, NeverResidentMemoryNeedsNoHostCopy) {
  Of(1).gpus[0].backed = 300;
  Bytes host = 1000;
  EXPECT_EQ(Ledger::EvictableWithin(Of(1), 300, 0, 1, host), 300u);
  EXPECT_EQ(host, 700u);
}

TEST_F(LedgerTest, WakeAtKeepsEarliestFutureTime) {
  ledger_.now = Time(100);
  EXPECT_TRUE(ledger_.Reached(Time(100)));
  EXPECT_FALSE(ledger_.wake);
  EXPECT_FALSE(ledger_.Reached(Time(300)));
  EXPECT_FALSE(ledger_.Reached(Time(200)));
  EXPECT_FALSE(ledger_.Reached(Time(400)));
  EXPECT_EQ(ledger_.wake, Time(200));
}

TEST_F(LedgerTest, NextSerialSkipsZero) {
  EXPECT_EQ(ledger_.NextSerial(), 1u);
  EXPECT_EQ(ledger_.NextSerial(), 2u);
}

}  // namespace ledger_test
}  // namespace reveza::scheduler
