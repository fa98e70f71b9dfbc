#include "reveza/jobs/definition/sobol.h"

#include <gtest/gtest.h>

#include <set>

namespace reveza::jobs {
namespace sobol_test {

using Words = std::vector<std::string>;

// SciPy 1.16: qmc.Sobol(21, scramble=False).
TEST(SobolPoint, AgreesWithSciPy) {
  constexpr std::array<double, kMaxSobolDimensions> kPoint1000 = {
      0.2197265625, 0.0966796875, 0.5185546875, 0.6767578125, 0.2802734375, 0.9072265625,
      0.0458984375, 0.8994140625, 0.5009765625, 0.0693359375, 0.0849609375, 0.2548828125,
      0.1611328125, 0.3837890625, 0.1435546875, 0.3701171875, 0.7197265625, 0.3447265625,
      0.9912109375, 0.7255859375, 0.5224609375};
  constexpr std::array<double, kMaxSobolDimensions> kPoint77 = {
      0.8359375, 0.8359375, 0.0078125, 0.7734375, 0.8359375, 0.5078125, 0.2265625,
      0.6484375, 0.1796875, 0.4296875, 0.1328125, 0.7890625, 0.4921875, 0.3359375,
      0.9921875, 0.0703125, 0.8203125, 0.8828125, 0.7890625, 0.0078125, 0.1484375};
  for (std::size_t dimension = 0; dimension < kMaxSobolDimensions; ++dimension) {
    EXPECT_EQ(SobolPoint(dimension, 0), 0) << dimension;
    EXPECT_EQ(SobolPoint(dimension, 77), kPoint77[dimension]) << dimension;
    EXPECT_EQ(SobolPoint(dimension, 1000), kPoint1000[dimension]) << dimension;
  }
}

// Two dimensions are a (0, 2)-sequence: of 256 points each of 16 x 16 cells has one.
TEST(SobolPoint, FillsTheSquareEvenly) {
  std::set<std::pair<int, int>> cells;
  for (std::uint32_t i = 0; i < 256; ++i) {
    cells.emplace(static_cast<int>(16 * SobolPoint(0, i)), static_cast<int>(16 * SobolPoint(1, i)));
  }
  EXPECT_EQ(cells.size(), 256);
}

TEST(SobolValues, CoversTheRange) {
  EXPECT_EQ(SobolValues({.low = 10, .high = 20, .count = 4}, 0),
            (Words{"10", "15", "17.5", "12.5"}));
  EXPECT_EQ(SobolValues({.low = -1, .high = 1, .count = 3}, 1), (Words{"-1", "0", "-0.5"}));
  EXPECT_EQ(SobolValues({.low = 1e-4, .high = 1, .logarithmic = true, .count = 4}, 0),
            (Words{"0.0001", "0.01", "0.1", "0.001"}));
  const auto all = SobolValues({.low = 1e-9, .high = 1, .count = 100'000}, 20);
  ASSERT_TRUE(all);
  EXPECT_EQ(std::set(all->begin(), all->end()).size(), all->size());
}

TEST(SobolValues, RejectsTooManyDimensions) {
  const auto values = SobolValues({.count = 4}, kMaxSobolDimensions);
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().message, "at most 21 parameters of a job can be sampled");
}

TEST(ParseSobol, ReadsRanges) {
  EXPECT_EQ(ParseSobol(Words{"sobol", "0..1", "64"}), (SobolRange{.count = 64}));
  EXPECT_EQ(ParseSobol(Words{"sobol", "1e-5..0.1", "8", "log"}),
            (SobolRange{.low = 1e-5, .high = 0.1, .logarithmic = true, .count = 8}));
}

TEST(ParseSobol, LeavesPlainValuesAlone) {
  for (const Words& words :
       {Words{"sobol"}, Words{"sobol", "random"}, Words{"grid", "0..1", "4"}, Words{}}) {
    const auto range = ParseSobol(words);
    ASSERT_TRUE(range);
    EXPECT_FALSE(*range);
  }
}

TEST(ParseSobol, SaysWhatIsExpected) {
  for (const Words& words :
       {Words{"sobol", "0..1"}, Words{"sobol", "1..0", "4"}, Words{"sobol", "a..b", "4"},
        Words{"sobol", "0..1", "0"}, Words{"sobol", "0..1", "-4"},
        Words{"sobol", "0..1", "4", "lin"}, Words{"sobol", "0..inf", "4"},
        Words{"sobol", "1..2", "4", "log", "more"}}) {
    const auto range = ParseSobol(words);
    ASSERT_FALSE(range) << words.back();
    EXPECT_NE(range.error().message.find("expected sobol LOW..HIGH COUNT"), std::string::npos);
  }
  EXPECT_NE(ParseSobol(Words{"sobol", "0..1", "4", "log"}).error().message.find("above 0"),
            std::string::npos);
  EXPECT_NE(ParseSobol(Words{"sobol", "0..1", "1000001"}).error().message.find("at most"),
            std::string::npos);
}

}  // namespace sobol_test
}  // namespace reveza::jobs
