#include "fakecuda/options.h"

#include <gtest/gtest.h>

namespace fakecuda {
namespace options_test {

TEST(ParseSize, ParsesUnits) {
  double bytes = 0;
  EXPECT_TRUE(ParseSize("256MiB", &bytes));
  EXPECT_EQ(bytes, 268435456.);
  EXPECT_TRUE(ParseSize("2GB/s", &bytes));
  EXPECT_EQ(bytes, 2e9);
  EXPECT_FALSE(ParseSize("12 bananas", &bytes));
  EXPECT_FALSE(ParseSize("-1", &bytes));
}

TEST(ParseNvml, ParsesNames) {
  Nvml nvml = Nvml::kFull;
  EXPECT_TRUE(ParseNvml("no-process-memory", &nvml));
  EXPECT_EQ(nvml, Nvml::kNoProcessMemory);
  EXPECT_TRUE(ParseNvml("none", &nvml));
  EXPECT_EQ(nvml, Nvml::kNone);
  EXPECT_FALSE(ParseNvml("", &nvml));
}

TEST(ParseVersion, ParsesMajorAndMinor) {
  int version = 0;
  EXPECT_TRUE(ParseVersion("11.4", &version));
  EXPECT_EQ(version, 11040);
  for (const char* invalid : {"", "12", "12.", "12.10", "12.4.1", "x.4", "-1.4"}) {
    EXPECT_FALSE(ParseVersion(invalid, &version)) << invalid;
  }
}

TEST(ParseFailures, ParsesList) {
  std::vector<Failure> failures;
  ASSERT_TRUE(ParseFailures("cuMemCreate:5:2,any:17:700", &failures));
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].name, "cuMemCreate");
  EXPECT_EQ(failures[0].call, 5u);
  EXPECT_EQ(failures[1].result, 700);
  EXPECT_FALSE(ParseFailures("cuMemCreate:5", &failures));
  EXPECT_FALSE(ParseFailures("cuMemCreate:x:2", &failures));
}

}  // namespace options_test
}  // namespace fakecuda
