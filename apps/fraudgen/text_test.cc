#include "text.h"

#include <gtest/gtest.h>

namespace reveza::fraudgen {
namespace {

TEST(FormatCount, HasCommas) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(2'000'000), "2,000,000");
}

TEST(FormatSize, HasThreeDigitsThatMatter) {
  EXPECT_EQ(FormatSize(0), "0 B");
  EXPECT_EQ(FormatSize(999), "999 B");
  EXPECT_EQ(FormatSize(1000), "1.00 kB");
  EXPECT_EQ(FormatSize(131'072'000), "131 MB");
  EXPECT_EQ(FormatSize(9'984'000'000), "9.98 GB");
  EXPECT_EQ(FormatSize(9'996'000'000), "10.0 GB");
  EXPECT_EQ(FormatRate(1'254'000), "1.25 M");
  EXPECT_EQ(FormatRate(12), "12");
}

TEST(Render, MakesColumns) {
  const TextTable table{.head = {"name", "n"},
                        .align = {Align::kLeft, Align::kRight},
                        .rows = {{"São", "1"}, {"x", "1,000"}}};
  EXPECT_EQ(Render(table, 2),
            "  name      n\n"
            "  São       1\n"
            "  x     1,000\n");
}

Moment Half() {
  return {.rows = 7'200'000,
          .all_rows = 16'000'000,
          .rows_made = 6'000'000,
          .bytes_made = 372'000'000,
          .elapsed = std::chrono::seconds(5),
          .memory = 149'000'000};
}

TEST(Progress, SaysHowFarAndHowFast) {
  EXPECT_EQ(ProgressText(Half()),
            " 45 %  7.20 M rows  1.20 M rows/s  74.4 MB/s  7 s left  149 MB of memory");
}

TEST(Progress, AtTheEndNothingIsLeft) {
  Moment end = Half();
  end.rows = end.all_rows;
  EXPECT_EQ(ProgressText(end), "100 %  16.0 M rows  1.20 M rows/s  74.4 MB/s  149 MB of memory");
}

TEST(Progress, TheBarFitsItsWidth) {
  for (const std::size_t width : {5u, 40u, 86u, 87u, 100u, 200u}) {
    EXPECT_LE(ProgressBar(Half(), width).size(), width);
  }
  EXPECT_TRUE(ProgressBar(Half(), 200).starts_with("[#############.................]  "));
  EXPECT_TRUE(ProgressBar(Half(), 200).ends_with(" of memory"));
  const std::string usual = ProgressBar(Half(), 79);
  EXPECT_TRUE(usual.starts_with("[")) << usual;
  EXPECT_TRUE(usual.ends_with(" left")) << usual;
  EXPECT_EQ(ProgressBar(Half(), 40).find('['), std::string::npos);
}

TEST(Progress, OfNothingIsAllOfIt) { EXPECT_TRUE(ProgressText(Moment{}).starts_with("100 %")); }

}  // namespace
}  // namespace reveza::fraudgen
