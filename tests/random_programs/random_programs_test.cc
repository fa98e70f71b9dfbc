// Random programs compute under Reveza what they compute natively, and their accounts are right.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/random_programs/trial.h"

namespace reveza::random_programs {
namespace random_programs_test {

TEST(RandomProgramTest, TextIsParsedBack) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Program program = Generate(seed, 2, 80);
    const auto parsed = ParseProgram(ToText(program));
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(*parsed, program);
  }
}

TEST(RandomProgramTest, EqualSeedsGiveEqualPrograms) {
  EXPECT_EQ(Generate(7, 1, 80), Generate(7, 1, 80));
  EXPECT_NE(Generate(7, 1, 80), Generate(8, 1, 80));
}

TEST(RandomProgramTest, InvalidTextIsRejected) {
  for (const char* text : {"devices 3", "threads 9", "mode fast", "0 jump 1", "0 alloc 1 2",
                           "1 check", "0 alloc 1 2 -3"}) {
    EXPECT_FALSE(ParseProgram(text).has_value()) << text;
  }
  EXPECT_TRUE(ParseProgram("# a comment\n\n0 alloc 1 2 3\n").has_value());
}

TEST(RandomProgramTest, ShrinkingKeepsWhatFails) {
  const Program program = Generate(1, 1, 60);
  const Operation& culprit = program.operations[41];
  const Program small = Shrink(program, [&](const Program& smaller) {
    return std::ranges::find(smaller.operations, culprit) != smaller.operations.end();
  });
  EXPECT_EQ(small.operations, std::vector{culprit});
}

struct Configuration {
  int devices;
  const char* nvml;
};

class RandomProgramsTest : public ::testing::TestWithParam<Configuration> {
 protected:
  static TrialOptions Options() { return {.devices = GetParam().devices, .nvml = GetParam().nvml}; }
};

TEST_P(RandomProgramsTest, ComputeAndHoldTheSameAsNatively) {
  constexpr std::uint64_t kPrograms = 12;
  Trial trial(Options());
  for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
    const auto failure = trial.Run(Generate(seed, GetParam().devices, 80));
    EXPECT_FALSE(failure.has_value()) << "seed " << seed << ": " << *failure;
    if (failure) break;
  }
  EXPECT_GT(trial.Handovers(), 0u);
}

TEST_P(RandomProgramsTest, StoredProgramsPass) {
  Trial trial(Options());
  for (const auto& entry : std::filesystem::directory_iterator(REVEZA_RANDOM_PROGRAM_CASES)) {
    std::ifstream file(entry.path());
    const auto program = ParseProgram(std::string(std::istreambuf_iterator<char>(file), {}));
    ASSERT_TRUE(program.has_value()) << entry.path() << ": " << program.error().message;
    if (program->devices != GetParam().devices) continue;
    const auto failure = trial.Run(*program);
    EXPECT_FALSE(failure.has_value()) << entry.path() << ": " << *failure;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomProgramsTest,
                         ::testing::Values(Configuration{1, "full"}, Configuration{1, "none"},
                                           Configuration{2, "full"},
                                           Configuration{2, "no-process-memory"}),
                         [](const auto& one) {
                           std::string name = one.param.nvml;
                           std::erase(name, '-');
                           return std::to_string(one.param.devices) + "_" + name;
                         });

}  // namespace random_programs_test
}  // namespace reveza::random_programs
