#include "runner/definition/shell_quotes.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

// The quotes that are open behind a text; '?' where nothing is sure.
char Behind(std::string_view text) {
  ShellQuotes quotes;
  quotes.Read(text);
  return quotes.AtValue().value_or('?');
}

TEST(ShellQuotes, KnowsWhatIsOpen) {
  EXPECT_EQ(Behind(""), '\0');
  EXPECT_EQ(Behind("echo "), '\0');
  EXPECT_EQ(Behind("echo \"a "), '"');
  EXPECT_EQ(Behind("echo 'a "), '\'');
  EXPECT_EQ(Behind("echo 'a' \"b\" "), '\0');
  EXPECT_EQ(Behind("echo \"it's "), '"');
  EXPECT_EQ(Behind("echo 'say \" "), '\'');
}

TEST(ShellQuotes, KnowsWhatIsEscaped) {
  EXPECT_EQ(Behind("echo \\\" "), '\0');
  EXPECT_EQ(Behind("echo \\' "), '\0');
  EXPECT_EQ(Behind("echo \"\\\" "), '"');
  EXPECT_EQ(Behind("echo '\\"), '\'') << "within single quotes a backslash is one";
  EXPECT_EQ(Behind("echo \\\\"), '\0');
}

TEST(ShellQuotes, GoesIntoSubstitutionsAndComesBack) {
  EXPECT_EQ(Behind("echo \"$(cat "), '\0');
  EXPECT_EQ(Behind("echo \"$(cat \"a "), '"');
  EXPECT_EQ(Behind("echo \"$(cat 'a' (x) ) "), '"');
  EXPECT_EQ(Behind("(cd /tmp; echo "), '\0');
  EXPECT_EQ(Behind("case x in a) echo "), '\0');
  EXPECT_EQ(Behind("echo \"${HOME} "), '"');
  EXPECT_EQ(Behind("echo ${HOME} "), '\0');
  EXPECT_EQ(Behind("echo \"${A:-${B}} "), '"');
}

TEST(ShellQuotes, GoesOnBehindAValue) {
  ShellQuotes quotes;
  quotes.Read("echo \"");
  EXPECT_EQ(quotes.AtValue(), '"');
  quotes.Read("\" ");
  EXPECT_EQ(quotes.AtValue(), '\0');
  quotes.Read("#no comment ");
  EXPECT_EQ(quotes.AtValue(), '\0') << "the value is the beginning of the word";
}

TEST(ShellQuotes, SaysWhereNothingIsSure) {
  for (const std::string_view text :
       {"echo `cat ", "echo \"`cat ", "true # it's ", "# ", "echo ${A:-", "echo \"${A:-",
        "echo ${A:-'x'} ", "cat <<END\n", "echo $'a' ", "echo \\", "echo \"\\",
        "echo $(case x in a) echo ", "echo \"${A:-\"x\"}"}) {
    EXPECT_EQ(Behind(text), '?') << text;
  }
  EXPECT_EQ(Behind("true # it's over\n "), '\0') << "a comment ends with its line";
  EXPECT_EQ(Behind("echo a#b "), '\0');
  EXPECT_EQ(Behind("cat < "), '\0');
}

}  // namespace
}  // namespace reveza::runner
