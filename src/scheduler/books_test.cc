#include "scheduler/books.h"

#include <gtest/gtest.h>

namespace reveza::scheduler {
namespace {

class BooksTest : public testing::Test {
 protected:
  BooksTest() {
    books_.gpus[0].config = GpuConfig{1000, 1000, 1};
    Add(1, Footprint{300, 100, 20, 30}, 350);
    Add(2, Footprint{0, 500, 0, 40}, 40);
  }

  void Add(ClientId id, const Footprint& footprint, Bytes credit) {
    Job& job = books_.jobs[id];
    job.id = id;
    Client& client = job.clients[id];
    client.id = client.job = id;
    client.gpus[0].books = footprint;
    client.gpus[0].credit = credit;
    client.gpus[0].backed = footprint.Swappable();
    books_.job_of[id] = id;
  }
  Client& Of(ClientId id) { return *books_.Find(id); }

  Books books_{Config{}};
};

TEST_F(BooksTest, SumsCredit) {
  EXPECT_EQ(books_.CreditOut(0), 390u);
  EXPECT_EQ(books_.Free(0), 610);
  books_.gpus[0].external = 700;
  EXPECT_EQ(books_.Free(0), -90);
}

TEST_F(BooksTest, AClaimIsTheNeedOrTheCreditIfThatIsMore) {
  EXPECT_EQ(Books::Claim(Of(1), 0), 450u);
  Of(1).gpus[0].credit = 600;
  EXPECT_EQ(Books::Claim(Of(1), 0), 600u);
  EXPECT_EQ(Books::Claim(Of(1), 5), 0u);
}

TEST_F(BooksTest, OnlyWhatIsNotFixedCanBeEvicted) {
  EXPECT_EQ(books_.Fixed(Of(1), 0), 50u);
  EXPECT_EQ(books_.Evictable(Of(1), 0), 300u);
  Of(1).gpus[0].pinned_on_the_way = 100;
  EXPECT_EQ(books_.Evictable(Of(1), 0), 200u);
  Of(1).resident_only = true;
  EXPECT_EQ(books_.Evictable(Of(1), 0), 0u);
  EXPECT_EQ(books_.Fixed(Of(1), 0), 450u);
}

TEST_F(BooksTest, DemandCountsAllOfWhoIsInAndTheFixedPartOfTheOthers) {
  EXPECT_EQ(books_.Demand(0, {}), 90u);
  EXPECT_EQ(books_.Demand(0, {1}), 490u);
  EXPECT_EQ(books_.Demand(0, {1, 2}), 990u);
  EXPECT_TRUE(books_.Fits(0, {1, 2}));
  books_.gpus[0].external = 11;
  EXPECT_FALSE(books_.Fits(0, {1, 2}));
  EXPECT_TRUE(books_.CanRunAlone(books_.jobs[1]));
  books_.gpus[0].external = 600;
  EXPECT_FALSE(books_.CanRunAlone(books_.jobs[1]));
}

TEST_F(BooksTest, PinnedGrowthThatWaitsCountsForEntering) {
  books_.growths.push_back({1, 1, 1, 0, GrowthKind::kPinned, 60, Time(0), false, Obstacle::kNone});
  EXPECT_EQ(books_.Entry(books_.jobs[1], 0), 510u);
  EXPECT_TRUE(books_.Wants(books_.jobs[1]));
  books_.growths.back().obstacle = Obstacle::kFixedMemory;
  EXPECT_EQ(books_.Entry(books_.jobs[1], 0), 450u);
  EXPECT_FALSE(books_.Wants(books_.jobs[1]));
}

TEST_F(BooksTest, ResidentMeansNothingElsewhereAndCreditForAll) {
  EXPECT_FALSE(Books::Resident(Of(1)));
  Of(1).gpus[0].books = Footprint{400, 0, 20, 30};
  EXPECT_FALSE(Books::Resident(Of(1)));
  Of(1).gpus[0].credit = 450;
  EXPECT_TRUE(Books::Resident(Of(1)));
  Of(1).gpus[0].evict_serial = 1;
  EXPECT_FALSE(Books::Resident(Of(1)));
}

TEST_F(BooksTest, EvictionsStayWithinTheHostMemoryLeft) {
  Bytes host = 1000;
  EXPECT_EQ(Books::EvictableWithin(Of(1), 300, 0, 1, host), 300u);
  EXPECT_EQ(host, 600u);  // 100 were swapped already
  host = 150;
  EXPECT_EQ(Books::EvictableWithin(Of(1), 300, 0, 1, host), 50u);
  EXPECT_EQ(host, 0u);
  host = 150;
  EXPECT_EQ(Books::EvictableWithin(Of(1), 300, 0, 40, host), 40u);  // whole pieces
  host = 0;
  EXPECT_EQ(Books::EvictableWithin(Of(1), 300, 0, 1, host), 0u);
  Of(1).host_reserved = 400;
  EXPECT_EQ(Books::EvictableWithin(Of(1), 300, 0, 1, host), 300u);
}

TEST_F(BooksTest, WhatWasNeverInGpuMemoryNeedsNoHostCopy) {
  Of(1).gpus[0].backed = 300;
  Bytes host = 1000;
  EXPECT_EQ(Books::EvictableWithin(Of(1), 300, 0, 1, host), 300u);
  EXPECT_EQ(host, 700u);
}

TEST_F(BooksTest, TheEarliestWakeUpAheadIsKept) {
  books_.now = Time(100);
  EXPECT_TRUE(books_.Reached(Time(100)));
  EXPECT_FALSE(books_.wake);
  EXPECT_FALSE(books_.Reached(Time(300)));
  EXPECT_FALSE(books_.Reached(Time(200)));
  EXPECT_FALSE(books_.Reached(Time(400)));
  EXPECT_EQ(books_.wake, Time(200));
}

TEST_F(BooksTest, SerialNumbersAreNeverZero) {
  EXPECT_EQ(books_.NextSerial(), 1u);
  EXPECT_EQ(books_.NextSerial(), 2u);
}

}  // namespace
}  // namespace reveza::scheduler
