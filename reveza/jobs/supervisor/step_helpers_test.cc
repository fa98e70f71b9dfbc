// Parses the output of the helpers for C, C++ and Python.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"
#include "reveza/jobs/supervisor/cycle_lines.h"
#include "reveza_step.h"

namespace reveza::jobs {
namespace step_helpers_test {

using platform::Ran;
using platform::Shell;

std::vector<CycleLine> Found(std::string_view text) {
  std::vector<CycleLine> found;
  CycleLineParser().Feed(text, found);
  return found;
}

// Expects the reports of testing_step.c and kPython.
void ExpectReports(const std::vector<CycleLine>& found) {
  ASSERT_EQ(found.size(), 4);
  EXPECT_EQ(found[0], (CycleLine{1, {}}));
  EXPECT_EQ(found[1], (CycleLine{2, {{"phi", 0.61}, {"loss", 1e-3}}}));
  EXPECT_EQ(found[2], (CycleLine{18446744073709551615u, {{"c", 1.0 / 3}}}));
  EXPECT_EQ(found[3].number, 4);
  EXPECT_FALSE(found[3].metrics.empty());
}

constexpr const char* kPython =
    "PYTHONPATH=" REVEZA_PYTHON
    " python3 -B -c 'import reveza; print(\"starting\"); reveza.step(1); "
    "reveza.step(2, phi=0.61, loss=1e-3); "
    "reveza.step(2**64 - 1, a=float(\"inf\"), b=float(\"nan\"), c=1/3); "
    "reveza.step(4, **{f\"metric{i}\": i for i in range(1000)})'";

class Helpers : public testing::TestWithParam<const char*> {};

TEST_P(Helpers, PrintToStandardOutput) {
  const Ran ran = Shell(GetParam());
  ASSERT_EQ(ran.status, 0) << ran.output;
  EXPECT_TRUE(ran.output.starts_with("starting")) << ran.output;
  ExpectReports(Found(ran.output));
}

TEST_P(Helpers, WriteToRevezaStepFd) {
  const Ran ran = Shell(std::string("export REVEZA_STEP_FD=9; ") + GetParam() + " 9>&1 >/dev/null");
  ASSERT_EQ(ran.status, 0) << ran.output;
  EXPECT_TRUE(ran.output.starts_with("reveza step 1\n")) << ran.output;
  ExpectReports(Found(ran.output));
}

TEST_P(Helpers, FallBackToStandardOutput) {
  for (const char* named : {"9", "", "x", "-1"}) {
    const Ran ran = Shell(std::string("export REVEZA_STEP_FD=") + named + "; " + GetParam());
    ASSERT_EQ(ran.status, 0) << ran.output;
    ExpectReports(Found(ran.output));
  }
}

INSTANTIATE_TEST_SUITE_P(C, Helpers, testing::Values(REVEZA_TESTING_STEP));
INSTANTIATE_TEST_SUITE_P(Python, Helpers, testing::Values(kPython));

TEST(PythonHelper, RejectsInvalidArguments) {
  for (const char* call : {"-1", "\"x\"", "1, **{\"a b\": 1}", "1, **{\"\": 1}", "1, phi=\"x\""}) {
    const Ran ran = Shell(std::string("PYTHONPATH=" REVEZA_PYTHON " python3 -B -c 'import reveza; "
                                      "reveza.step(") +
                          call + ")'");
    EXPECT_EQ(ran.status, 1) << call;
    EXPECT_NE(ran.output.find("ValueError"), std::string::npos) << ran.output;
  }
}

TEST(CHelper, CompilesAsCpp) {
  platform::TestingDirectory folder;
  FILE* file = fopen((folder / "lines").c_str(), "w+");
  ASSERT_NE(file, nullptr);
  setenv("REVEZA_STEP_FD", std::to_string(fileno(file)).c_str(), 1);
  const float phi = 0.5F;
  REVEZA_STEP(3, {"phi", phi});
  unsetenv("REVEZA_STEP_FD");
  rewind(file);
  char line[100] = {};
  EXPECT_GT(fread(line, 1, sizeof line - 1, file), 0);
  EXPECT_STREQ(line, "reveza step 3 phi=0.5\n");
  fclose(file);
}

}  // namespace step_helpers_test
}  // namespace reveza::jobs
