#include "monitor/text.h"

#include <gtest/gtest.h>

namespace reveza::monitor {
namespace {

TEST(ShortBytes, IsNeverLongerThanFiveLetters) {
  EXPECT_EQ(ShortBytes(std::nullopt), "n/a");
  EXPECT_EQ(ShortBytes(0), "0");
  EXPECT_EQ(ShortBytes(1), "<1K");
  EXPECT_EQ(ShortBytes(600), "1K");
  EXPECT_EQ(ShortBytes(999 * kKiB), "999K");
  EXPECT_EQ(ShortBytes(1000 * kKiB), "1.0M");
  EXPECT_EQ(ShortBytes(9 * kMiB + 999 * kKiB), "10M");
  EXPECT_EQ(ShortBytes(24 * kGiB), "24G");
  EXPECT_EQ(ShortBytes(kGiB * 3 / 2), "1.5G");
  EXPECT_EQ(ShortBytes(~Bytes{0}), "16E");
}

TEST(ShortRate, IsDecimal) {
  EXPECT_EQ(ShortRate(std::nullopt), "n/a");
  EXPECT_EQ(ShortRate(0.0), "0 B/s");
  EXPECT_EQ(ShortRate(1.25e9), "1.2 GB/s");
  EXPECT_EQ(ShortRate(55.4e9), "55 GB/s");
  EXPECT_EQ(ShortRate(999.7e6), "1.0 GB/s");
}

TEST(Figures, NotAvailableIsNeverZero) {
  EXPECT_EQ(Percent(std::nullopt), "n/a");
  EXPECT_EQ(Percent(0.0), "0 %");
  EXPECT_EQ(Percent(0.784), "78 %");
  EXPECT_EQ(Count(std::nullopt), "n/a");
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Seconds(std::nullopt), "n/a");
  EXPECT_EQ(Seconds(185.0), "3 min 5 s");
  EXPECT_EQ(Seconds(1e300), Seconds(1e9)) << "nonsense does no harm";
}

TEST(OneCellEach, KeepsWhatATerminalDraws) {
  EXPECT_EQ(ToUtf8(OneCellEach("seed=57 ação ▁█")), "seed=57 ação ▁█");
}

TEST(OneCellEach, LetsNoSequenceThrough) {
  EXPECT_EQ(ToUtf8(OneCellEach("a\x1b[2Jb\nc\td\x7f")), "a?[2Jb?c?d?");
  EXPECT_EQ(ToUtf8(OneCellEach("\xc2\x9b"
                               "2J")),
            "?2J")
      << "the one of a single letter";
  EXPECT_EQ(ToUtf8(OneCellEach("\xe2\x80\xae"
                               "abc")),
            "?abc")
      << "which turns text round";
  EXPECT_EQ(ToUtf8(OneCellEach("e\xcc\x81")), "e?") << "combining";
  EXPECT_EQ(ToUtf8(OneCellEach("\xe6\xbc\xa2")), "?") << "two cells wide";
}

TEST(OneCellEach, BrokenUtf8IsNoTrouble) {
  EXPECT_EQ(ToUtf8(OneCellEach("\xff"
                               "a")),
            "?a");
  EXPECT_EQ(ToUtf8(OneCellEach("\xc3")), "?");
  EXPECT_EQ(ToUtf8(OneCellEach("\xe2\x96"
                               "a")),
            "?a");
  EXPECT_EQ(ToUtf8(OneCellEach("\xc0\xaf")), "??");
}

}  // namespace
}  // namespace reveza::monitor
