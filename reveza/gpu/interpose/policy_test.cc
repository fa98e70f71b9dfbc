#include "reveza/gpu/interpose/policy.h"

#include <gtest/gtest.h>

namespace reveza::interpose {
namespace policy_test {

TEST(Policy, ParsesEachPart) {
  const wire::Policy policy =
      ParsePolicy("weight=250,priority=2,interactive=1,request=1073741824,limit=2147483648");
  EXPECT_EQ(policy.fields, wire::kPolicyWeight | wire::kPolicyPriority | wire::kPolicyInteractive |
                               wire::kPolicyMemory);
  EXPECT_EQ(policy.weight, 250u);
  EXPECT_EQ(policy.priority, 2u);
  EXPECT_EQ(policy.interactive, 1u);
  EXPECT_EQ(policy.request, 1u << 30);
  EXPECT_EQ(policy.limit, 2u << 30);
}

TEST(Policy, PartsAreOptional) {
  EXPECT_EQ(ParsePolicy(nullptr).fields, 0u);
  EXPECT_EQ(ParsePolicy("").fields, 0u);
  const wire::Policy policy = ParsePolicy("limit=7");
  EXPECT_EQ(policy.fields, wire::kPolicyMemory);
  EXPECT_EQ(policy.limit, 7u);
  EXPECT_EQ(policy.request, 0u);
}

TEST(Policy, IgnoresWhatItDoesNotKnow) {
  EXPECT_EQ(ParsePolicy("weight=0,priority=3,interactive=yes,limit=,xweight=3,,").fields, 0u);
  EXPECT_EQ(ParsePolicy("color=red,weight=3").fields, wire::kPolicyWeight);
  EXPECT_EQ(ParsePolicy("limit=99999999999999999999999").fields, 0u);
}

}  // namespace policy_test
}  // namespace reveza::interpose
