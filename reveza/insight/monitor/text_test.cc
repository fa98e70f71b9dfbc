#include "reveza/insight/monitor/text.h"

#include <gtest/gtest.h>

namespace reveza::monitor {
namespace text_test {

TEST(FormatNumbers, UnavailableIsNotZero) {
  EXPECT_EQ(ShortBytes(std::nullopt), "n/a");
  EXPECT_EQ(ShortBytes(0), "0");
  EXPECT_EQ(FormatTransferRate(std::nullopt), "n/a");
  EXPECT_EQ(FormatPercent(std::nullopt), "n/a");
  EXPECT_EQ(FormatPercent(0.0), "0 %");
  EXPECT_EQ(FormatPercent(0.784), "78 %");
  EXPECT_EQ(FormatNumber(std::nullopt), "n/a");
  EXPECT_EQ(FormatNumber(0), "0");
  EXPECT_EQ(FormatSeconds(std::nullopt), "n/a");
  EXPECT_EQ(FormatSeconds(185.0), "3 min 5 s");
}

TEST(Bar, HasTheGivenWidth) {
  EXPECT_EQ(Bar(Bytes{0}, 0, 100, 12), "[----------]");
  EXPECT_EQ(Bar(Bytes{50}, 0, 100, 12), "[#####-----]");
  EXPECT_EQ(Bar(Bytes{50}, 30, 100, 12), "[#####xxx--]");
  EXPECT_EQ(Bar(Bytes{500}, 30, 100, 12), "[##########]");
  EXPECT_EQ(Bar(Bytes{5}, 5, 0, 12), "[----------]");
}

TEST(SanitizeForTerminal, KeepsPrintableText) {
  EXPECT_EQ(ToUtf8(SanitizeForTerminal("seed=57 ação ▁█")), "seed=57 ação ▁█");
}

TEST(SanitizeForTerminal, ReplacesEscapeSequences) {
  EXPECT_EQ(ToUtf8(SanitizeForTerminal("a\x1b[2Jb\nc\td\x7f")), "a?[2Jb?c?d?");
  EXPECT_EQ(ToUtf8(SanitizeForTerminal("\xc2\x9b"
                                       "2J")),
            "?2J")
      << "8-bit CSI";
  EXPECT_EQ(ToUtf8(SanitizeForTerminal("\xe2\x80\xae"
                                       "abc")),
            "?abc")
      << "right-to-left override";
  EXPECT_EQ(ToUtf8(SanitizeForTerminal("e\xcc\x81")), "e?") << "combining";
  EXPECT_EQ(ToUtf8(SanitizeForTerminal("\xe6\xbc\xa2")), "?") << "two cells wide";
}

TEST(SanitizeForTerminal, ReplacesInvalidUtf8) {
  EXPECT_EQ(ToUtf8(SanitizeForTerminal("\xff"
                                       "a")),
            "?a");
  EXPECT_EQ(ToUtf8(SanitizeForTerminal("\xc3")), "?");
  EXPECT_EQ(ToUtf8(SanitizeForTerminal("\xe2\x96"
                                       "a")),
            "?a");
  EXPECT_EQ(ToUtf8(SanitizeForTerminal("\xc0\xaf")), "??");
}

TEST(ShortAge, FitsIntoAColumn) {
  EXPECT_EQ(ShortAge(std::nullopt), "n/a");
  EXPECT_EQ(ShortAge(59.9), "59s");
  EXPECT_EQ(ShortAge(307), "5m07");
  EXPECT_EQ(ShortAge(3600 * 23 + 60 * 5), "23h05");
  EXPECT_EQ(ShortAge(86400.0 * 12), "12d");
  EXPECT_LE(ShortAge(1e300).size(), 6u);
}

}  // namespace text_test
}  // namespace reveza::monitor
