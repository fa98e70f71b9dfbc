#include "common/base/units.h"

#include <gtest/gtest.h>

namespace reveza {
namespace units_test {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(ParseBytes, ParsesBinaryAndDecimalUnits) {
  EXPECT_EQ(ParseBytes("24GiB"), 24 * kGiB);
  EXPECT_EQ(ParseBytes("2.5GB"), 2'500'000'000u);
  EXPECT_EQ(ParseBytes("512MiB"), 512 * kMiB);
  EXPECT_EQ(ParseBytes("512 mib"), 512 * kMiB);
  EXPECT_EQ(ParseBytes("1KiB"), 1024u);
  EXPECT_EQ(ParseBytes("1kB"), 1000u);
  EXPECT_EQ(ParseBytes("1TiB"), kGiB << 10);
  EXPECT_EQ(ParseBytes("7B"), 7u);
  EXPECT_EQ(ParseBytes("0B"), 0u);
}

TEST(ParseBytes, RejectsInvalidSizes) {
  for (const char* text : {"", "GiB", "12", "12 parsecs", "-1GiB", "1e3GiB", "nanGiB", "infGiB",
                           "1GiBs", "0x10MiB", "1,5GiB"}) {
    const auto bytes = ParseBytes(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_EQ(bytes.error().code, Error::Code::kInvalidArgument);
    EXPECT_NE(bytes.error().message.find("24GiB"), std::string::npos) << "names a valid size";
  }
  EXPECT_FALSE(ParseBytes("1025TiB"));
  EXPECT_TRUE(ParseBytes("1024TiB"));
}

TEST(FormatBytes, UsesThreeDigits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1 KiB");
  EXPECT_EQ(FormatBytes(64 * kMiB), "64 MiB");
  EXPECT_EQ(FormatBytes(kGiB + kGiB / 2), "1.5 GiB");
  EXPECT_EQ(FormatBytes(140 * kGiB + kGiB / 2 + 1), "141 GiB");
  EXPECT_EQ(FormatBytes(kGiB - 1), "1 GiB");
  EXPECT_EQ(FormatBytes(kGiB << 10), "1 TiB");
}

TEST(ShortBytes, HasAtMostFiveCharacters) {
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

TEST(FormatSize, HasThreeSignificantDigits) {
  EXPECT_EQ(FormatSize(0), "0 B");
  EXPECT_EQ(FormatSize(999), "999 B");
  EXPECT_EQ(FormatSize(1000), "1.00 kB");
  EXPECT_EQ(FormatSize(131'072'000), "131 MB");
  EXPECT_EQ(FormatSize(9'984'000'000), "9.98 GB");
  EXPECT_EQ(FormatSize(9'996'000'000), "10.0 GB");
  EXPECT_EQ(FormatScaled(1'254'000), "1.25 M");
  EXPECT_EQ(FormatScaled(12), "12");
}

TEST(FormatTransferRate, UsesDecimalPrefixes) {
  EXPECT_EQ(FormatTransferRate(0.0), "0 B/s");
  EXPECT_EQ(FormatTransferRate(1.25e9), "1.2 GB/s");
  EXPECT_EQ(FormatTransferRate(55.4e9), "55 GB/s");
  EXPECT_EQ(FormatTransferRate(999.7e6), "1.0 GB/s");
}

TEST(FormatCount, HasCommas) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(2'000'000), "2,000,000");
}

TEST(ParseDuration, ParsesUnits) {
  EXPECT_EQ(ParseDuration("250us"), std::chrono::microseconds(250));
  EXPECT_EQ(ParseDuration("1.5ms"), std::chrono::microseconds(1500));
  EXPECT_EQ(ParseDuration("30s"), seconds(30));
  EXPECT_EQ(ParseDuration("2 min"), seconds(120));
  EXPECT_EQ(ParseDuration("1h"), seconds(3600));
  for (const char* text : {"", "30", "s", "-1s", "5 days", "9000h"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(FormatDuration, UsesTheLargestUnits) {
  EXPECT_EQ(FormatDuration(nanoseconds(0)), "0 s");
  EXPECT_EQ(FormatDuration(nanoseconds(-5)), "0 s");
  EXPECT_EQ(FormatDuration(nanoseconds(1500)), "1.5 us");
  EXPECT_EQ(FormatDuration(milliseconds(250)), "250 ms");
  EXPECT_EQ(FormatDuration(milliseconds(1234)), "1.2 s");
  EXPECT_EQ(FormatDuration(seconds(59)), "59 s");
  EXPECT_EQ(FormatDuration(milliseconds(59'990)), "1 min 0 s");
  EXPECT_EQ(FormatDuration(seconds(185)), "3 min 5 s");
  EXPECT_EQ(FormatDuration(seconds(7800)), "2 h 10 min");
  EXPECT_EQ(FormatSeconds(185.0), "3 min 5 s");
  EXPECT_EQ(FormatSeconds(1e300), FormatSeconds(1e9)) << "clamped";
}

}  // namespace units_test
}  // namespace reveza
