#include "runner/decide/rate_text.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

TEST(FormatRate, ChoosesTheUnit) {
  EXPECT_EQ(FormatRate(1234.4), "1234 steps/s");
  EXPECT_EQ(FormatRate(59.17), "59.2 steps/s");
  EXPECT_EQ(FormatRate(5.917), "5.9 steps/s");
  EXPECT_EQ(FormatRate(1), "1 steps/s");
  EXPECT_EQ(FormatRate(0.2), "12 steps/min");
  EXPECT_EQ(FormatRate(0.00086), "3.1 steps/h");
  EXPECT_EQ(FormatRate(0), "0 steps/h");
}

}  // namespace
}  // namespace reveza::runner
