#include "common/platform/run_program.h"

#include <gtest/gtest.h>

namespace reveza::platform {
namespace run_program_test {

using namespace std::chrono_literals;

TEST(RunProgram, ReturnsBothOutputsAndTheStatus) {
  const auto ran = RunProgram({"sh", "-c", "echo out; echo errors >&2; exit 3"}, 60s);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->status, 3);
  EXPECT_EQ(ran->out, "out\n");
  EXPECT_EQ(ran->errors, "errors\n");
}

TEST(RunProgram, KillsWhatDoesNotEnd) {
  const auto ran = RunProgram({"sleep", "600"}, 50ms);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, Error::Code::kUnavailable);
}

TEST(RunProgram, FailsWithoutTheProgram) {
  const auto ran = RunProgram({"no-such-program-here"}, 60s);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, Error::Code::kNotFound);
}

TEST(RunProgram, KeepsTheEndOfALongOutput) {
  const auto ran = RunProgram({"seq", "100000"}, 60s, 12);
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->out, "9999\n100000\n");
}

}  // namespace run_program_test
}  // namespace reveza::platform
