#include "reveza/jobs/definition/run_request.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace run_request_test {

TEST(MetricGoal, ReadsRelations) {
  for (const char* text : {"loss<0.05", "loss<=0.05", "phi>1", "phi>=1"}) {
    const auto goal = ParseGoal(text);
    ASSERT_TRUE(goal) << text;
    EXPECT_EQ(ToText(*goal), text);
  }
  EXPECT_EQ(ParseGoal("train/loss<-1e-3")->value, -1e-3);
}

TEST(MetricGoal, Compares) {
  EXPECT_TRUE(ParseGoal("a<1")->IsMetBy(0.5));
  EXPECT_FALSE(ParseGoal("a<1")->IsMetBy(1));
  EXPECT_TRUE(ParseGoal("a<=1")->IsMetBy(1));
  EXPECT_FALSE(ParseGoal("a<=1")->IsMetBy(1.5));
  EXPECT_TRUE(ParseGoal("a>1")->IsMetBy(1.5));
  EXPECT_FALSE(ParseGoal("a>1")->IsMetBy(1));
  EXPECT_TRUE(ParseGoal("a>=1")->IsMetBy(1));
  EXPECT_FALSE(ParseGoal("a>=1")->IsMetBy(0.5));
}

TEST(MetricGoal, RejectsOtherText) {
  for (const char* text : {"", "loss", "<1", "loss<", "loss<x", "loss=1", "loss<inf", "loss<>1"}) {
    EXPECT_FALSE(ParseGoal(text)) << text;
  }
}

}  // namespace run_request_test
}  // namespace reveza::jobs
