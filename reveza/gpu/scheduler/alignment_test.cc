#include <gtest/gtest.h>

#include "reveza/gpu/scheduler/testing_script.h"

namespace reveza::scheduler {
namespace alignment_test {

// Job 10 of clients 1 and 2 is leaving for job 3. Client 1 waits for client 2, which has drained.
class AlignmentTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const ClientId client : {1, 2}) {
      script_.Join(client, 10);
      script_.MakeContext(client);
      script_.Allocate(client, 4 * kGiB);
    }
    script_.Want(1);
    script_.Want(2);
    script_.AddClient(3, 10 * kGiB);
    script_.hold_gates = true;
    script_.Want(3);
    for (int i = 0; i < 60'000 && !script_.IsClosing(1); ++i) script_.Wait(milliseconds(1));
    ASSERT_TRUE(script_.IsClosing(1));
    ASSERT_TRUE(script_.IsClosing(2));
    script_.CloseHeldGate(2);
    script_.ReportDraining(1);
  }

  CloseGate Last() const { return script_.All<CloseGate>().back(); }
  std::size_t Orders() const { return script_.All<CloseGate>().size(); }

  // The client uses what was admitted, and its next thread waits.
  void UseAdmission(ClientId client) {
    script_.CloseHeldGate(client);
    script_.Want(client);
  }

  Script script_;
};

TEST_F(AlignmentTest, OnlyJobsOfSeveralClientsReportEarly) {
  const CloseGate first = script_.All<CloseGate>().front();
  EXPECT_LT(first.report_after, first.drain_limit / 10);
  Script alone;
  alone.AddClient(1, 4 * kGiB);
  alone.Want(1);
  alone.AddClient(3, 14 * kGiB);
  alone.Want(3);
  alone.Wait(seconds(60));
  const CloseGate only = alone.All<CloseGate>().front();
  EXPECT_EQ(only.report_after, only.drain_limit);
}

TEST_F(AlignmentTest, NothingIsAdmittedUntilAThreadWaits) {
  const std::size_t before = Orders();
  script_.Wait(milliseconds(50));
  EXPECT_EQ(Orders(), before);
  script_.Want(2);
  EXPECT_EQ(Orders(), before + 1);
  EXPECT_EQ(Last().client, 2u);
  EXPECT_EQ(Last().submissions, 1u);
}

TEST_F(AlignmentTest, AdmittedSubmissionsLetTheJobLeave) {
  script_.Want(2);
  UseAdmission(2);
  script_.CloseHeldGate(1);
  EXPECT_TRUE(script_.Open(3));
  EXPECT_EQ(script_.JobOf(10).aligned_drains, 1u);
  EXPECT_EQ(script_.JobOf(10).failed_drains, 0u);
  EXPECT_EQ(script_.JobOf(10).state, JobState::kWaiting);  // its thread is not forgotten
}

TEST_F(AlignmentTest, AdmitsOneSubmissionAtATimeThenMore) {
  script_.Want(2);
  std::vector<std::uint32_t> submissions = {Last().submissions};
  for (int i = 1; i < 18; ++i) {
    const std::size_t before = Orders();
    UseAdmission(2);
    EXPECT_EQ(Orders(), before);  // not before the pause is over
    script_.Wait(milliseconds(2));
    ASSERT_EQ(Orders(), before + 1);
    submissions.push_back(Last().submissions);
  }
  EXPECT_EQ(std::ranges::count(submissions, 1u), 8);
  EXPECT_EQ(std::vector(submissions.end() - 8, submissions.end()),
            (std::vector<std::uint32_t>{8, 16, 32, 64, 64, 64, 64, 64}));
  EXPECT_TRUE(std::ranges::is_sorted(submissions));
}

TEST_F(AlignmentTest, WhatIsNotUsedIsWithdrawn) {
  script_.Want(2);
  const std::size_t before = Orders();
  script_.CloseHeldGate(1);
  ASSERT_EQ(Orders(), before + 1);
  EXPECT_EQ(Last().client, 2u);
  EXPECT_EQ(Last().submissions, 0u);
  EXPECT_FALSE(script_.Open(3));
  script_.CloseHeldGate(2);
  EXPECT_TRUE(script_.Open(3));
}

TEST_F(AlignmentTest, ClientTakenPastTheOthersWaitsForThem) {
  script_.Want(2);
  script_.ReportDraining(2);
  EXPECT_EQ(Last().client, 2u);  // nobody has drained
  script_.CloseHeldGate(1);
  script_.Want(1);
  script_.Wait(milliseconds(2));
  EXPECT_EQ(Last().client, 1u);
  EXPECT_EQ(Last().submissions, 1u);
  UseAdmission(1);
  script_.Wait(milliseconds(3));
  EXPECT_TRUE(script_.IsClosing(2));
  EXPECT_FALSE(script_.IsClosing(1));  // the pause is longer now
  script_.Wait(milliseconds(1));
  EXPECT_TRUE(script_.IsClosing(1));
  script_.CloseHeldGate(1);
  script_.CloseHeldGate(2);
  EXPECT_TRUE(script_.Open(3));
}

// A client that takes long to drain, while the others do too, was not carried past them.
TEST_F(AlignmentTest, SlowDrainIsNoOvershoot) {
  script_.Want(2);
  for (int i = 0; i < 9; ++i) {
    script_.ReportDraining(2);
    UseAdmission(2);
    script_.Wait(milliseconds(2));
  }
  EXPECT_EQ(Last().submissions, 4u);
}

// It may have begun to close before the withdrawal arrived, and answers once or twice.
TEST_F(AlignmentTest, WithdrawalKeepsTheSerial) {
  script_.Want(2);
  const CloseGate admission = Last();
  script_.CloseHeldGate(1);
  EXPECT_EQ(Last().submissions, 0u);
  EXPECT_EQ(Last().serial, admission.serial);
  script_.ReportDraining(2);
  script_.Want(1);
  script_.Wait(milliseconds(2));
  EXPECT_EQ(Last().client, 1u);
  EXPECT_EQ(Last().submissions, 1u);
}

TEST_F(AlignmentTest, MemoryAllocatedBehindTheGateIsNotUsed) {
  script_.Allocate(2, kGiB);
  const std::size_t before = Orders();
  script_.Want(2);
  script_.Wait(milliseconds(50));
  EXPECT_EQ(Orders(), before);
}

TEST_F(AlignmentTest, NothingIsAdmittedAfterTheDrainLimit) {
  script_.Wait(Script::DefaultConfig().drain_limit);
  const std::size_t before = Orders();
  script_.Want(2);
  script_.Wait(milliseconds(50));
  EXPECT_EQ(Orders(), before);
}

TEST_F(AlignmentTest, FailedDrainWithdrawsAndIsCounted) {
  script_.Want(2);
  script_.FailHeldGate(1);
  EXPECT_EQ(Last().client, 2u);
  EXPECT_EQ(Last().submissions, 0u);
  script_.CloseHeldGate(2);
  EXPECT_TRUE(script_.Open(1));
  EXPECT_TRUE(script_.Open(2));
  EXPECT_EQ(script_.JobOf(10).failed_drains, 1u);
  EXPECT_EQ(script_.JobOf(10).aligned_drains, 0u);
}

TEST_F(AlignmentTest, DeathOfTheWaitingClientWithdraws) {
  script_.Want(2);
  script_.Leave(1);
  EXPECT_EQ(Last().submissions, 0u);
  script_.CloseHeldGate(2);
  EXPECT_TRUE(script_.Open(3));
}

// What a third client waits for is not known yet: it may drain, or want to be waited for.
TEST(Alignment, NothingIsAdmittedWhileAClientHasNotReported) {
  Script script;
  for (const ClientId client : {1, 2, 4}) {
    script.Join(client, 10);
    script.MakeContext(client);
    script.Allocate(client, 3 * kGiB);
  }
  for (const ClientId client : {1, 2, 4}) script.Want(client);
  script.AddClient(3, 10 * kGiB);
  script.hold_gates = true;
  script.Want(3);
  for (int i = 0; i < 60'000 && !script.IsClosing(1); ++i) script.Wait(milliseconds(1));
  ASSERT_TRUE(script.IsClosing(4));
  script.CloseHeldGate(2);
  script.Want(2);
  script.ReportDraining(1);
  script.Wait(milliseconds(50));
  EXPECT_FALSE(script.IsClosing(2));
  script.ReportDraining(4);
  EXPECT_TRUE(script.IsClosing(2));
}

TEST_F(AlignmentTest, StaleReportsAreIgnored) {
  const std::size_t before = Orders();
  script_.scheduler().Draining(script_.now(), 2, script_.All<CloseGate>().front().serial + 7);
  script_.scheduler().Draining(script_.now(), 99, 1);
  script_.DeliverDecisions();
  EXPECT_EQ(Orders(), before);
  script_.Want(2);
  EXPECT_EQ(Last().client, 2u);
}

}  // namespace alignment_test
}  // namespace reveza::scheduler
