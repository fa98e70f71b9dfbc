// tools/generate_driver_calls.py: error cases, and that docs/coverage.md is up to date.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"

namespace generator_test {

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class GeneratorTest : public testing::Test {
 protected:
  void SetUp() override {
    table_ = Read(REVEZA_TEST_TABLE);
    ASSERT_NE(table_.find("\ncuLaunchKernel "), std::string::npos);
  }

  // Runs the generator on `table`. Returns its exit status; output_ receives its output.
  int Generate(const std::string& table) {
    std::ofstream(folder_ / "table.txt") << table;
    const std::string command = std::string(REVEZA_TEST_PYTHON) + " " + REVEZA_TEST_GENERATOR +
                                " --table " + (folder_ / "table.txt").string() + " --header " +
                                REVEZA_TEST_CUDA_HEADER + " --output " +
                                (folder_ / "out").string() + " --compiler " + REVEZA_TEST_COMPILER;
    reveza::platform::Ran ran = reveza::platform::Shell(command);
    output_ = std::move(ran.output);
    return ran.status;
  }

  std::string WithoutLine(const std::string& beginning) {
    const size_t at = table_.find("\n" + beginning);
    EXPECT_NE(at, std::string::npos);
    return table_.substr(0, at) + table_.substr(table_.find('\n', at + 1));
  }

  reveza::platform::TestingDirectory folder_;
  std::string table_;
  std::string output_;
};

TEST_F(GeneratorTest, AcceptsTheTable) {
  EXPECT_EQ(Generate(table_), 0) << output_;
  EXPECT_NE(Read(folder_ / "out/driver_exports.cc").find("cuLaunchKernel_ptsz("),
            std::string::npos);
}

TEST_F(GeneratorTest, RejectsCallWithoutRow) {
  EXPECT_EQ(Generate(WithoutLine("cuGraphLaunch ")), 1);
  EXPECT_NE(output_.find("no row for cuGraphLaunch, cuGraphLaunch_ptsz"), std::string::npos)
      << output_;
}

TEST_F(GeneratorTest, RejectsRowWithoutCall) {
  EXPECT_EQ(Generate(table_ + "cuNever gate\n"), 1);
  EXPECT_NE(output_.find("cuNever"), std::string::npos) << output_;
  EXPECT_EQ(Generate(table_ + "=cuLaunchKernel_v7 gate\n"), 1);
  EXPECT_NE(output_.find("=cuLaunchKernel_v7"), std::string::npos) << output_;
}

TEST_F(GeneratorTest, RejectsDuplicateRow) {
  EXPECT_EQ(Generate(table_ + "cuLaunchKernel pass\n"), 1);
  EXPECT_NE(output_.find(": cuLaunchKernel"), std::string::npos) << output_;
}

TEST_F(GeneratorTest, RejectsUnknownPolicy) {
  EXPECT_EQ(Generate(table_ + "cuInit perhaps\n"), 1);
  EXPECT_NE(output_.find("expected NAME POLICY"), std::string::npos) << output_;
}

TEST_F(GeneratorTest, RejectsExternForCallsOfCudaH) {
  EXPECT_EQ(Generate(WithoutLine("cuInit ") + "cuInit extern\n"), 1);
  EXPECT_NE(output_.find("cuInit is in cuda.h"), std::string::npos) << output_;
}

TEST_F(GeneratorTest, CoveragePageIsUpToDate) {
  ASSERT_EQ(Generate(table_), 0) << output_;
  EXPECT_EQ(Read(REVEZA_TEST_COVERAGE), Read(folder_ / "out/coverage.md"))
      << "update with: ninja update_coverage";
}

}  // namespace generator_test
