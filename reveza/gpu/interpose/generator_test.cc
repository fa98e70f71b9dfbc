// tools/generate_driver_calls.py: error cases, that its output is the same with the headers of each
// version of CUDA, and that docs/coverage.md is up to date.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"

namespace generator_test {

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the folders with the cuda.h of other versions that tools/setup.sh has installed.
std::vector<std::filesystem::path> OtherHeaders() {
  std::vector<std::filesystem::path> folders;
  if (!std::filesystem::exists(REVEZA_TEST_HEADERS)) return folders;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(REVEZA_TEST_HEADERS)) {
    if (entry.path().filename() == "cuda.h") folders.push_back(entry.path().parent_path());
  }
  std::ranges::sort(folders);
  return folders;
}

// Returns the value of a macro of a header.
long Macro(const std::filesystem::path& header, const std::string& name) {
  const std::string text = Read(header);
  std::smatch match;
  const std::regex pattern("#define " + name + " ([0-9]+)");
  return std::regex_search(text, match, pattern) ? std::stol(match[1]) : 0;
}

class GeneratorTest : public testing::Test {
 protected:
  void SetUp() override {
    table_ = Read(REVEZA_TEST_TABLE);
    ASSERT_NE(table_.find("\ncuLaunchKernel "), std::string::npos);
  }

  // Runs the generator on `table`. Returns its exit status; output_ receives its output.
  int Generate(const std::string& table, const std::string& headers = REVEZA_TEST_INCLUDE) {
    std::ofstream(folder_ / "table.txt") << table;
    const std::string command = std::string(REVEZA_TEST_PYTHON) + " " + REVEZA_TEST_GENERATOR +
                                " --table " + (folder_ / "table.txt").string() + " --include " +
                                REVEZA_TEST_NEWER + " " + headers + " --output " +
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

TEST_F(GeneratorTest, RejectsFamilyWithAWrappedCall) {
  EXPECT_EQ(Generate(table_ + "cuGraphLaunc* direct\n"), 1);
  EXPECT_NE(output_.find("is passed, but not cuGraphLaunch"), std::string::npos) << output_;
  EXPECT_EQ(Generate(table_ + "cuFuture* gate\n"), 1);
  EXPECT_NE(output_.find("can only be 'direct'"), std::string::npos) << output_;
}

// A library built with old headers treats a program as one built with new headers does.
TEST_F(GeneratorTest, OutputDoesNotDependOnTheHeaders) {
  if (OtherHeaders().empty()) GTEST_SKIP() << "no other headers: tools/setup.sh headers";
  ASSERT_EQ(Generate(table_), 0) << output_;
  std::filesystem::rename(folder_ / "out", folder_ / "default");
  const std::filesystem::path ours = std::filesystem::path(REVEZA_TEST_NEWER) / "cuda.h";
  for (const std::filesystem::path& folder : OtherHeaders()) {
    if (Macro(folder / "cuda.h", "CUDA_VERSION") < Macro(ours, "REVEZA_CUDA_OLDEST")) continue;
    ASSERT_EQ(Generate(table_, folder.string()), 0) << folder << "\n" << output_;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "default")) {
      EXPECT_EQ(Read(file.path()), Read(folder_ / "out" / file.path().filename())) << folder;
    }
  }
}

TEST_F(GeneratorTest, TableHasTheCallsOfAllHeaders) {
  std::vector<std::filesystem::path> folders = OtherHeaders();
  folders.emplace_back(REVEZA_TEST_INCLUDE);
  const std::regex prototype(R"(CUresult\s+CUDAAPI\s+(cu[A-Z]\w*?)(_v[0-9]+)?(_pt[sd][sz])?\()");
  for (const std::filesystem::path& folder : folders) {
    std::set<std::string> calls;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (!file.path().filename().string().starts_with("cuda")) continue;
      if (file.path().extension() != ".h") continue;
      const std::string text = Read(file.path());
      for (std::sregex_iterator at(text.begin(), text.end(), prototype), end; at != end; ++at) {
        calls.insert((*at)[1]);
      }
    }
    EXPECT_GT(calls.size(), 300u) << folder;
    for (const std::string& call : calls) {
      EXPECT_NE(table_.find("\n" + call + " "), std::string::npos) << call << " of " << folder;
    }
  }
}

TEST_F(GeneratorTest, CoveragePageIsUpToDate) {
  ASSERT_EQ(Generate(table_), 0) << output_;
  EXPECT_EQ(Read(REVEZA_TEST_COVERAGE), Read(folder_ / "out/coverage.md"))
      << "update with: ninja update_coverage";
}

}  // namespace generator_test
