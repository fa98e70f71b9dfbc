#include "base/units.h"

#include <gtest/gtest.h>

namespace reveza {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(ParseBytes, KnowsPowersOfTwoAndOfTen) {
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

TEST(ParseBytes, RefusesWhatIsNoSize) {
  for (const char* text : {"", "GiB", "12", "12 parsecs", "-1GiB", "1e3GiB", "nanGiB", "infGiB",
                           "1GiBs", "0x10MiB", "1,5GiB"}) {
    const auto bytes = ParseBytes(text);
    ASSERT_FALSE(bytes) << text;
    EXPECT_EQ(bytes.error().code, Error::Code::kInvalidArgument);
    EXPECT_NE(bytes.error().message.find("24GiB"), std::string::npos) << "says what is right";
  }
  EXPECT_FALSE(ParseBytes("1025TiB"));
  EXPECT_TRUE(ParseBytes("1024TiB"));
}

TEST(FormatBytes, IsShort) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1 KiB");
  EXPECT_EQ(FormatBytes(64 * kMiB), "64 MiB");
  EXPECT_EQ(FormatBytes(kGiB + kGiB / 2), "1.5 GiB");
  EXPECT_EQ(FormatBytes(140 * kGiB + kGiB / 2 + 1), "141 GiB");
  EXPECT_EQ(FormatBytes(kGiB - 1), "1 GiB");
  EXPECT_EQ(FormatBytes(kGiB << 10), "1 TiB");
}

TEST(ParseDuration, KnowsItsUnits) {
  EXPECT_EQ(ParseDuration("250us"), std::chrono::microseconds(250));
  EXPECT_EQ(ParseDuration("1.5ms"), std::chrono::microseconds(1500));
  EXPECT_EQ(ParseDuration("30s"), seconds(30));
  EXPECT_EQ(ParseDuration("2 min"), seconds(120));
  EXPECT_EQ(ParseDuration("1h"), seconds(3600));
  for (const char* text : {"", "30", "s", "-1s", "5 days", "9000h"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(FormatDuration, IsShort) {
  EXPECT_EQ(FormatDuration(nanoseconds(0)), "0 s");
  EXPECT_EQ(FormatDuration(nanoseconds(-5)), "0 s");
  EXPECT_EQ(FormatDuration(nanoseconds(1500)), "1.5 us");
  EXPECT_EQ(FormatDuration(milliseconds(250)), "250 ms");
  EXPECT_EQ(FormatDuration(milliseconds(1234)), "1.2 s");
  EXPECT_EQ(FormatDuration(seconds(59)), "59 s");
  EXPECT_EQ(FormatDuration(milliseconds(59'990)), "1 min 0 s");
  EXPECT_EQ(FormatDuration(seconds(185)), "3 min 5 s");
  EXPECT_EQ(FormatDuration(seconds(7800)), "2 h 10 min");
}

}  // namespace
}  // namespace reveza
