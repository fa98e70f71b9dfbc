#include "reveza/gpu/scheduler/policy_text.h"

#include <gtest/gtest.h>

namespace reveza::scheduler {
namespace policy_text_test {

TEST(PolicyText, ReadsWeightsPrioritiesAndFlags) {
  EXPECT_EQ(ParseWeight("2.5"), 2.5);
  EXPECT_EQ(ParsePriority("low"), Priority::kLow);
  EXPECT_EQ(ParsePriority("high"), Priority::kHigh);
  EXPECT_EQ(ParseInteractive("true"), true);
  EXPECT_EQ(ParseInteractive("false"), false);
  for (const char* text : {"0", "101", "x", "", "2x"}) EXPECT_FALSE(ParseWeight(text)) << text;
  EXPECT_FALSE(ParseInteractive("1"));
  EXPECT_NE(ParsePriority("hihg").error().message.find("'high'"), std::string::npos);
}

TEST(PolicyText, ReadsRequestAndLimit) {
  const auto parse = [](const char* text) {
    Policy policy{.request = 1, .limit = 2};
    EXPECT_TRUE(ParseMemory(text, policy)) << text;
    return policy;
  };
  const Bytes all = Policy{}.limit;
  EXPECT_EQ(parse("4GiB:8GiB"), (Policy{.request = 4 * kGiB, .limit = 8 * kGiB}));
  EXPECT_EQ(parse("4GiB"), (Policy{.request = 4 * kGiB, .limit = all}));
  EXPECT_EQ(parse("4GiB:"), (Policy{.request = 4 * kGiB, .limit = all}));
  EXPECT_EQ(parse(":8GiB"), (Policy{.limit = 8 * kGiB}));
  Policy policy;
  for (const char* text : {"4", "4GiB:2GiB", "4GiB:x", "4GiB:8GiB:9GiB"}) {
    EXPECT_FALSE(ParseMemory(text, policy)) << text;
  }
}

}  // namespace policy_text_test
}  // namespace reveza::scheduler
