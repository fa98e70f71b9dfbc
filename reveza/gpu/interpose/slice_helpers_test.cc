// The helpers with which programs in C, C++ and Python give a slice up, or hold it.
#include <gtest/gtest.h>

#include "common/platform/testing_shell.h"

namespace reveza::interpose {
namespace slice_helpers_test {

using platform::Ran;
using platform::Shell;

constexpr const char* kPython =
    "PYTHONPATH=" REVEZA_TEST_PYTHON_FOLDER
    " python3 -B -c 'import reveza\nreveza.yield_()\nwith reveza.hold():\n"
    "  print(\"answer\", flush=True)'";

class SliceHelpers : public testing::TestWithParam<const char*> {};

TEST_P(SliceHelpers, CallThePreloadedLibrary) {
  const Ran ran = Shell(std::string("export LD_PRELOAD=" REVEZA_TEST_STUB "; ") + GetParam());
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output, "yield\nhold\nanswer\nrelease\n");
}

TEST_P(SliceHelpers, DoNothingWithoutIt) {
  const Ran ran = Shell(GetParam());
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output, "answer\n");
}

INSTANTIATE_TEST_SUITE_P(C, SliceHelpers, testing::Values(REVEZA_TEST_CALLER_C));
INSTANTIATE_TEST_SUITE_P(Cpp, SliceHelpers, testing::Values(REVEZA_TEST_CALLER_CPP));
INSTANTIATE_TEST_SUITE_P(Python, SliceHelpers, testing::Values(kPython));

TEST(PythonSliceHelper, ReleasesAfterAnException) {
  const Ran ran =
      Shell("export LD_PRELOAD=" REVEZA_TEST_STUB "; PYTHONPATH=" REVEZA_TEST_PYTHON_FOLDER
            " python3 -B -c 'import reveza\ntry:\n  with reveza.hold(): raise KeyError()\n"
            "except KeyError: print(\"caught\")'");
  EXPECT_EQ(ran.output, "hold\nrelease\ncaught\n");
}

}  // namespace slice_helpers_test
}  // namespace reveza::interpose
