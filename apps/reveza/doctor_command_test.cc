// `reveza doctor` as people meet it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "platform/testing_directory.h"
#include "platform/testing_shell.h"

namespace reveza::cli {
namespace {

platform::Ran Doctor(const std::string& arguments) {
  return platform::Shell(std::string(REVEZA_PROGRAM) + " doctor " + arguments);
}

const nlohmann::json* Find(const nlohmann::json& report, const std::string& id) {
  for (const auto& finding : report.at("findings")) {
    if (finding.at("id") == id) return &finding;
  }
  return nullptr;
}

TEST(DoctorCommand, MistakesHaveAStatusThatIsNoVerdict) {
  for (const char* wrong :
       {"--pid 0", "--pid x", "--no-such-option", "elephant", "--", "--pid 1 -- true",
        "--for soon -- true", "explain", "explain gil-bounds", "--pid 4194000"}) {
    const auto ran = Doctor(wrong);
    EXPECT_EQ(ran.status, 64) << wrong << ": " << ran.output;
    EXPECT_TRUE(ran.output.starts_with("reveza: ")) << ran.output;
    EXPECT_EQ(std::ranges::count(ran.output, '\n'), 1) << "one line: " << ran.output;
  }
  EXPECT_NE(Doctor("explain gil-bounds").output.find("did you mean 'gil-bound'?"),
            std::string::npos);
  EXPECT_EQ(Doctor("-- /no/such/program").status, 127);
  EXPECT_EQ(Doctor("-- /").status, 126);
}

TEST(DoctorCommand, ExplainsAndHelps) {
  const auto page = Doctor("explain thread-local-data");
  EXPECT_EQ(page.status, 0);
  EXPECT_NE(page.output.find("## How to mend it"), std::string::npos) << page.output;
  EXPECT_EQ(Doctor("--help").status, 0);
}

TEST(DoctorCommand, ItsStatusIsItsVerdict) {
  const auto ran = Doctor("--json");
  const auto report = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.output;
  const std::string verdict = report.at("verdict");
  EXPECT_EQ(ran.status, verdict == "fine" ? 0 : verdict == "warnings" ? 1 : 2) << ran.output;
  EXPECT_EQ(report.at("subject"), "this machine");
  EXPECT_NE(Find(report, "thread-probe"), nullptr) << ran.output;
  EXPECT_EQ(Find(report, "check-failed"), nullptr) << ran.output;
}

TEST(DoctorCommand, LooksAtAProcess) {
  const auto ran =
      platform::Shell(std::string("ulimit -n 64; exec ") + REVEZA_PROGRAM + " doctor -v --pid $$");
  EXPECT_NE(ran.status, 64) << ran.output;
  EXPECT_NE(ran.output.find("RLIMIT_NOFILE = 64"), std::string::npos) << ran.output;
}

// Under the sanitizers address space is taken in terabytes, and no limit on it can be set.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(DoctorCommand, NamesALimitThatAScriptSetsForItself) {
  const platform::TestingDirectory folder;
  folder.Write("train.py",
               "import ctypes, resource, time\n"
               "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 10 << 30))\n"
               "ctypes.CDLL('" REVEZA_FAKE_DRIVER
               "')\n"
               "time.sleep(1000)\n");
  const auto ran = Doctor("--json --for 6s -- " REVEZA_PYTHON " " + (folder / "train.py").string());
  EXPECT_EQ(ran.status, 2) << ran.output;
  const auto report = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.output;
  const auto* finding = Find(report, "address-space");
  ASSERT_NE(finding, nullptr) << ran.output;
  EXPECT_EQ(finding->at("severity"), "fatal");
  EXPECT_EQ(finding->at("limit"), "RLIMIT_AS = 8 GiB (ulimit -v 8388608)");
}
#endif

}  // namespace
}  // namespace reveza::cli
