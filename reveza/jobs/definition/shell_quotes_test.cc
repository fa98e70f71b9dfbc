#include "reveza/jobs/definition/shell_quotes.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace shell_quotes_test {

// Returns the open quote after a text; '?' where values cannot be quoted.
char QuoteAfter(std::string_view text) {
  ShellQuoteTracker quotes;
  quotes.Consume(text);
  return quotes.QuoteAtValue().value_or('?');
}

TEST(ShellQuoteTracker, TracksOpenQuotes) {
  EXPECT_EQ(QuoteAfter(""), '\0');
  EXPECT_EQ(QuoteAfter("echo "), '\0');
  EXPECT_EQ(QuoteAfter("echo \"a "), '"');
  EXPECT_EQ(QuoteAfter("echo 'a "), '\'');
  EXPECT_EQ(QuoteAfter("echo 'a' \"b\" "), '\0');
  EXPECT_EQ(QuoteAfter("echo \"it's "), '"');
  EXPECT_EQ(QuoteAfter("echo 'say \" "), '\'');
}

TEST(ShellQuoteTracker, TracksBackslashes) {
  EXPECT_EQ(QuoteAfter("echo \\\" "), '\0');
  EXPECT_EQ(QuoteAfter("echo \\' "), '\0');
  EXPECT_EQ(QuoteAfter("echo \"\\\" "), '"');
  EXPECT_EQ(QuoteAfter("echo '\\"), '\'') << "literal inside single quotes";
  EXPECT_EQ(QuoteAfter("echo \\\\"), '\0');
}

TEST(ShellQuoteTracker, TracksSubstitutions) {
  EXPECT_EQ(QuoteAfter("echo \"$(cat "), '\0');
  EXPECT_EQ(QuoteAfter("echo \"$(cat \"a "), '"');
  EXPECT_EQ(QuoteAfter("echo \"$(cat 'a' (x) ) "), '"');
  EXPECT_EQ(QuoteAfter("(cd /tmp; echo "), '\0');
  EXPECT_EQ(QuoteAfter("case x in a) echo "), '\0');
  EXPECT_EQ(QuoteAfter("echo \"${HOME} "), '"');
  EXPECT_EQ(QuoteAfter("echo ${HOME} "), '\0');
  EXPECT_EQ(QuoteAfter("echo \"${A:-${B}} "), '"');
}

TEST(ShellQuoteTracker, ContinuesAfterAValue) {
  ShellQuoteTracker quotes;
  quotes.Consume("echo \"");
  EXPECT_EQ(quotes.QuoteAtValue(), '"');
  quotes.Consume("\" ");
  EXPECT_EQ(quotes.QuoteAtValue(), '\0');
  quotes.Consume("#no comment ");
  EXPECT_EQ(quotes.QuoteAtValue(), '\0') << "the value began the word, so # is not a comment";
}

TEST(ShellQuoteTracker, RejectsUnsafePositions) {
  for (const std::string_view text :
       {"echo `cat ", "echo \"`cat ", "true # it's ", "# ", "echo ${A:-", "echo \"${A:-",
        "echo ${A:-'x'} ", "cat <<END\n", "echo $'a' ", "echo \\", "echo \"\\",
        "echo $(case x in a) echo ", "echo \"${A:-\"x\"}"}) {
    EXPECT_EQ(QuoteAfter(text), '?') << text;
  }
  EXPECT_EQ(QuoteAfter("true # it's over\n "), '\0') << "comments end at the newline";
  EXPECT_EQ(QuoteAfter("echo a#b "), '\0');
  EXPECT_EQ(QuoteAfter("cat < "), '\0');
}

using Words = std::vector<std::string>;

TEST(SplitWords, SplitsAsAShellDoes) {
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

TEST(SplitWords, RejectsShellSyntax) {
  for (const std::string_view line :
       {"a | b", "a; b", "a && b", "a > b", "a < b", "`a`", "$HOME"}) {
    const auto words = SplitWords(line);
    ASSERT_FALSE(words) << line;
    EXPECT_NE(words.error().message.find("shell = true"), std::string::npos) << line;
  }
}

TEST(SplitWords, RejectsUnterminatedQuotes) {
  EXPECT_FALSE(SplitWords("a 'b"));
  EXPECT_FALSE(SplitWords("a \"b"));
  EXPECT_FALSE(SplitWords("a \"b\\"));
  EXPECT_FALSE(SplitWords("a\\"));
}

}  // namespace shell_quotes_test
}  // namespace reveza::jobs
