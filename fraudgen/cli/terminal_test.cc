#include "fraudgen/cli/terminal.h"

#include <gtest/gtest.h>

namespace reveza::fraudgen::cli {
namespace terminal_test {

TEST(Render, AlignsColumns) {
  const TextTable table{.head = {"name", "n"},
                        .align = {Align::kLeft, Align::kRight},
                        .rows = {{"São", "1"}, {"x", "1,000"}}};
  EXPECT_EQ(Render(table, 2),
            "  name      n\n"
            "  São       1\n"
            "  x     1,000\n");
}

ProgressState Half() {
  return {.rows = 7'200'000,
          .total_rows = 16'000'000,
          .rows_made = 6'000'000,
          .bytes_made = 372'000'000,
          .elapsed = std::chrono::seconds(5),
          .memory = 149'000'000};
}

TEST(Progress, ShowsShareAndRates) {
  EXPECT_EQ(ProgressText(Half()),
            " 45 %  7.20 M rows  1.20 M rows/s  74.4 MB/s  7 s left  149 MB memory");
}

TEST(Progress, OmitsTimeLeftAtTheEnd) {
  ProgressState end = Half();
  end.rows = end.total_rows;
  EXPECT_EQ(ProgressText(end), "100 %  16.0 M rows  1.20 M rows/s  74.4 MB/s  149 MB memory");
}

TEST(Progress, BarFitsWidth) {
  for (const std::size_t width : {5u, 40u, 86u, 87u, 100u, 200u}) {
    EXPECT_LE(ProgressBar(Half(), width).size(), width);
  }
  EXPECT_TRUE(ProgressBar(Half(), 200).starts_with("[#############.................]  "));
  EXPECT_TRUE(ProgressBar(Half(), 200).ends_with(" memory"));
  const std::string usual = ProgressBar(Half(), 79);
  EXPECT_TRUE(usual.starts_with("[")) << usual;
  EXPECT_TRUE(usual.ends_with(" left")) << usual;
  EXPECT_EQ(ProgressBar(Half(), 40).find('['), std::string::npos);
}

TEST(Progress, IsCompleteWithoutRows) {
  EXPECT_TRUE(ProgressText(ProgressState{}).starts_with("100 %"));
}

}  // namespace terminal_test
}  // namespace reveza::fraudgen::cli
