#include "runner/definition/split_words.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

using Words = std::vector<std::string>;

TEST(SplitWords, SplitsAsAShellWould) {
  EXPECT_EQ(SplitWords(""), Words{});
  EXPECT_EQ(SplitWords(" a  b\tc\n"), (Words{"a", "b", "c"}));
  EXPECT_EQ(SplitWords("a 'b c' \"d e\""), (Words{"a", "b c", "d e"}));
  EXPECT_EQ(SplitWords("a'b'\"c\"d"), Words{"abcd"});
  EXPECT_EQ(SplitWords("'' a \"\""), (Words{"", "a", ""}));
  EXPECT_EQ(SplitWords("a\\ b \\' \\\\"), (Words{"a b", "'", "\\"}));
  EXPECT_EQ(SplitWords("\"a\\\"b\" \"\\n\" '\\n'"), (Words{"a\"b", "\\n", "\\n"}));
  EXPECT_EQ(SplitWords("--seed={seed} '{a b}' \"it's\""),
            (Words{"--seed={seed}", "{a b}", "it's"}));
  EXPECT_EQ(SplitWords("'a|b' \"c&d\" \\$e"), (Words{"a|b", "c&d", "$e"}));
}

TEST(SplitWords, RefusesWhatNeedsAShell) {
  for (const std::string_view line :
       {"a | b", "a; b", "a && b", "a > b", "a < b", "`a`", "$HOME"}) {
    const auto words = SplitWords(line);
    ASSERT_FALSE(words) << line;
    EXPECT_NE(words.error().message.find("shell = true"), std::string::npos) << line;
  }
}

TEST(SplitWords, RefusesWhatIsNotClosed) {
  EXPECT_FALSE(SplitWords("a 'b"));
  EXPECT_FALSE(SplitWords("a \"b"));
  EXPECT_FALSE(SplitWords("a \"b\\"));
  EXPECT_FALSE(SplitWords("a\\"));
}

}  // namespace
}  // namespace reveza::runner
