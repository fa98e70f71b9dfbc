#include <gtest/gtest.h>

#include "reveza/jobs/engine/schedule.h"

namespace reveza::jobs {
namespace retry_policy_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RetryPolicy, MemoryRetriesCanBeLeftToOthers) {
  RetryPolicy policy(5, 0);
  EXPECT_FALSE(policy.RecordFailure(0, Outcome::kMemory));
  EXPECT_TRUE(policy.RecordFailure(0, Outcome::kFailure));
  EXPECT_TRUE(RetryPolicy(0).RecordFailure(0, Outcome::kMemory));
}

TEST(RetryPolicy, LostOutputIsNoFailureOfTheStep) {
  RetryPolicy policy(1);
  for (std::uint32_t i = 0; i < RetryPolicy::kMaxOutputRetries; ++i) {
    EXPECT_TRUE(policy.RecordFailure(1, Outcome::kOutputLost));
  }
  EXPECT_FALSE(policy.RecordFailure(1, Outcome::kOutputLost));
  EXPECT_TRUE(policy.RecordFailure(1, Outcome::kFailure));
  EXPECT_FALSE(policy.RecordFailure(1, Outcome::kFailure));
}

TEST(StartBackoff, DelaysGrowUpToTenSecondsAndResetOnSuccess) {
  StartBackoff backoff;
  EXPECT_TRUE(backoff.MayStart(seconds(0)));
  milliseconds expected(500);
  for (int i = 0; i < 8; ++i) {
    backoff.DelayExponentially(seconds(0));
    EXPECT_FALSE(backoff.MayStart(expected - milliseconds(1)));
    EXPECT_TRUE(backoff.MayStart(expected));
    expected = std::min<milliseconds>(2 * expected, seconds(10));
  }
  backoff.OnStarted();
  backoff.DelayExponentially(seconds(20));
  EXPECT_TRUE(backoff.MayStart(seconds(20) + milliseconds(500)));
}

TEST(StartBackoff, ReasonIsNewOnce) {
  StartBackoff backoff;
  EXPECT_TRUE(backoff.SetReason("no memory"));
  EXPECT_FALSE(backoff.SetReason("no memory"));
  EXPECT_TRUE(backoff.SetReason("no descriptors"));
  backoff.OnStarted();
  EXPECT_EQ(backoff.reason(), "");
  EXPECT_TRUE(backoff.SetReason("no descriptors"));
}

}  // namespace retry_policy_test
}  // namespace reveza::jobs
