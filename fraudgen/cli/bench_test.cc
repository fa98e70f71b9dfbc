// Tests of `fraudgen bench` as a program that starts another. python/fraudgen_bench_test.py tests
// what it starts.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/testing_fraudgen.h"

namespace reveza::fraudgen::cli {
namespace bench_test {

using platform::Ran;

TEST_F(FraudgenTest, BenchBecomesPythonWithItsOptions) {
  place_.Write("python", "#!/bin/sh\nshift 2\nfor word; do echo \"[$word]\"; done\nexit 7\n");
  std::filesystem::permissions(place_ / "python", std::filesystem::perms::owner_all);
  const std::string fake = "FRAUDGEN_PYTHON=./python";
  const Ran plain = Fraudgen("bench data --threads 3", fake);
  EXPECT_EQ(plain.status, 7);
  EXPECT_EQ(plain.output, "[--output=bench.html]\n[--seed]\n[1]\n[--threads]\n[3]\n[--]\n[data]\n");
  const Ran all = Fraudgen(
      "bench --mapping paysim --against real --against-mapping my.toml --sample 5000 --memory 1GB "
      "--seed 9 --threads 2 --json --quiet -o a.html one two",
      fake);
  EXPECT_EQ(all.output,
            "[--output=a.html]\n[--seed]\n[9]\n[--threads]\n[2]\n[--mapping=paysim]\n"
            "[--against=real]\n[--against-mapping=my.toml]\n[--sample=5000]\n[--memory=1GB]\n"
            "[--quiet]\n[--json]\n[--]\n[one]\n[two]\n");
}

TEST_F(FraudgenTest, BenchReportsMissingPython) {
  ExpectError("bench data", kMissing, "set FRAUDGEN_PYTHON", "FRAUDGEN_PYTHON=./nothing");
  // -S hides the packages of the interpreter, so that at most ours is found.
  place_.Write("python", "#!/bin/sh\nexec python3 -S \"$@\"\n");
  std::filesystem::permissions(place_ / "python", std::filesystem::perms::owner_all);
  ExpectError("bench .", kMissing, "pip install 'fraudgen[bench]'", "FRAUDGEN_PYTHON=./python");
}

TEST_F(FraudgenTest, BenchDoesNotImportFromTheWorkingDirectory) {
  place_.Write("fraudgen/__init__.py", "");
  place_.Write("fraudgen/bench/__init__.py", "");
  place_.Write("fraudgen/bench/__main__.py", "def main(): return 42\n");
  EXPECT_NE(Fraudgen("bench data", "PYTHONPATH=").status, 42);
}

TEST_F(FraudgenTest, BenchRejectsWhatItIgnores) {
  ExpectError("bench", kUsage, "PLACE");
  ExpectError("bench data --rows 5", kUsage, "--rows has no effect on bench");
  ExpectError("bench data --mapping ''", kUsage, "--mapping: empty value");
  EXPECT_FALSE(Exists("bench.html"));
}

}  // namespace bench_test
}  // namespace reveza::fraudgen::cli
