// End-to-end tests of `reveza doctor`.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "common/platform/cgroup.h"
#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"

namespace reveza::cli {
namespace doctor_command_test {

platform::Ran Doctor(const std::string& arguments) {
  return platform::Shell(std::string(REVEZA_PROGRAM) + " doctor " + arguments);
}

const nlohmann::json* Find(const nlohmann::json& report, const std::string& id) {
  for (const auto& finding : report.at("findings")) {
    if (finding.at("id") == id) return &finding;
  }
  return nullptr;
}

TEST(DoctorCommand, UsageErrorsHaveTheirOwnStatus) {
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

TEST(DoctorCommand, ExplainPrintsAPage) {
  const auto page = Doctor("explain thread-local-data");
  EXPECT_EQ(page.status, 0);
  EXPECT_NE(page.output.find("## How to fix it"), std::string::npos) << page.output;
  EXPECT_EQ(Doctor("--help").status, 0);
}

TEST(DoctorCommand, StatusIsTheVerdict) {
  const auto ran = Doctor("--json");
  const auto report = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.output;
  const std::string verdict = report.at("verdict");
  EXPECT_EQ(ran.status, verdict == "fine" ? 0 : verdict == "warnings" ? 1 : 2) << ran.output;
  EXPECT_EQ(report.at("subject"), "this machine");
  EXPECT_NE(Find(report, "thread-probe"), nullptr) << ran.output;
  EXPECT_EQ(Find(report, "check-failed"), nullptr) << ran.output;
}

TEST(DoctorCommand, ExaminesAProcess) {
  const auto ran =
      platform::Shell(std::string("ulimit -n 64; exec ") + REVEZA_PROGRAM + " doctor -v --pid $$");
  EXPECT_NE(ran.status, 64) << ran.output;
  EXPECT_NE(ran.output.find("RLIMIT_NOFILE = 64"), std::string::npos) << ran.output;
}

TEST(DoctorCommand, JsonListsFineFindings) {
  const auto ran = Doctor("--json");
  const auto report = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.output;
  EXPECT_NE(Find(report, "gpu-runtime"), nullptr) << ran.output;
  EXPECT_NE(Find(report, "huge-pages"), nullptr) << ran.output;
  EXPECT_NE(Find(report, "locked-memory"), nullptr) << ran.output;
  EXPECT_NE(Find(report, "pinned-memory"), nullptr) << ran.output;
}

// A process that belongs to another user: to root, if this is not root, else to nobody.
class OfAnotherUser : public testing::Test {
 protected:
  // As somebody who may not look into `pid_`.
  platform::Ran Look(const std::string& arguments) {
    std::string command;
    if (geteuid() == 0) {
      if (platform::Shell("setpriv --reuid 65534 --clear-groups true").status != 0) {
        return {.status = -1, .output = "no setpriv here"};
      }
      // Where others may read: a checkout is often below a folder that they may not enter.
      std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
      std::filesystem::copy_file(REVEZA_PROGRAM, folder_ / "reveza");
      sleeper_ = fork();
      if (sleeper_ == 0) {
        for (;;) pause();
      }
      pid_ = sleeper_;
      command = "cd / && setpriv --reuid 65534 --clear-groups " + (folder_ / "reveza").string();
    } else {
      command = REVEZA_PROGRAM;
    }
    return platform::Shell(command + " doctor " + arguments + " --pid " + std::to_string(pid_));
  }
  ~OfAnotherUser() override {
    if (sleeper_ <= 0) return;
    kill(sleeper_, SIGKILL);
    waitpid(sleeper_, nullptr, 0);
  }

  pid_t pid_ = 1;
  pid_t sleeper_ = 0;
  platform::TestingDirectory folder_;
};

TEST_F(OfAnotherUser, ReportsUnreadableParts) {
  const auto ran = Look("--json");
  if (ran.status == -1) GTEST_SKIP() << ran.output;
  const auto report = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.output;
  const auto* hidden = Find(report, "not-visible");
  ASSERT_NE(hidden, nullptr) << ran.output;
  EXPECT_EQ(hidden->at("severity"), "warning");
  EXPECT_NE(hidden->at("fix").get<std::string>().find("sudo reveza doctor --pid"),
            std::string::npos);
  EXPECT_GE(ran.status, 1) << "unreadable is not fine";
  EXPECT_LE(ran.status, 2) << ran.output;
  EXPECT_EQ(report.at("verdict"), ran.status == 1 ? "warnings" : "fatal");
  EXPECT_EQ(Find(report, "check-failed"), nullptr) << "no check crashed: " << ran.output;
  // Unknown counts must not be reported as numbers.
  for (const char* id : {"map-count", "open-files", "blas-runtimes", "openmp-runtimes"}) {
    const auto* finding = Find(report, id);
    if (finding == nullptr) continue;
    const std::string observed = finding->at("observed");
    EXPECT_EQ(observed.find(" 0 "), std::string::npos) << observed;
    EXPECT_EQ(observed.find("has 0"), std::string::npos) << observed;
  }
}

TEST_F(OfAnotherUser, ReportsUnreadablePartsWithoutVerbose) {
  const auto ran = Look("");
  if (ran.status == -1) GTEST_SKIP() << ran.output;
  EXPECT_NE(ran.output.find("warning [not-visible]"), std::string::npos) << ran.output;
  // Lines are broken by the length of the process's name and number.
  const std::string unbroken = std::regex_replace(ran.output, std::regex("\\s+"), " ");
  EXPECT_NE(unbroken.find("its mappings and libraries"), std::string::npos) << ran.output;
}

// A new network namespace has no route and no address.
TEST(DoctorCommand, RequiresNoNetwork) {
  const std::string alone = geteuid() == 0 ? "unshare --net " : "unshare --user --net ";
  if (platform::Shell(alone + "true").status != 0) GTEST_SKIP() << "no network namespaces here";
  const auto ran = platform::Shell(alone + REVEZA_PROGRAM + " doctor --json");
  const auto report = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.output;
  EXPECT_LE(ran.status, 2) << ran.output;
  EXPECT_EQ(Find(report, "check-failed"), nullptr) << ran.output;
  EXPECT_NE(Find(report, "thread-probe"), nullptr) << ran.output;
}

// Under the sanitizers address space is taken in terabytes, and no limit on it can be set.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// In 500 MB of address space more than 1,024 stacks of 256 KiB fit, and not 32,768.
TEST(DoctorCommand, DeepProbesMoreThreads) {
  const auto probe = [](const std::string& option) -> std::string {
    const auto ran = platform::Shell(std::string("ulimit -s 256; ulimit -v 500000; exec ") +
                                     REVEZA_PROGRAM + " doctor --json " + option);
    const auto report = nlohmann::json::parse(ran.output, nullptr, false);
    const auto* finding = report.is_object() ? Find(report, "thread-probe") : nullptr;
    return finding == nullptr ? ran.output : finding->at("observed").get<std::string>();
  };
  const std::string few = probe("");
  const std::string many = probe("--deep");
  EXPECT_TRUE(few.starts_with("1024 threads")) << few;
  EXPECT_GT(std::strtoul(many.c_str(), nullptr, 10), 1024u) << many;
  EXPECT_NE(many.find("could not be started"), std::string::npos) << many;
}

// Returns the ids of the problems, worst first.
std::vector<std::string> ProblemsOf(const std::string& command) {
  const auto ran = platform::Shell(command);
  const auto report = nlohmann::json::parse(ran.output, nullptr, false);
  std::vector<std::string> problems;
  if (!report.is_object()) return {ran.output};
  for (const auto& finding : report.at("findings")) {
    if (finding.at("severity") != "warning" && finding.at("severity") != "fatal") continue;
    problems.push_back(finding.at("id"));
  }
  return problems;
}

TEST(DoctorCommand, CauseOfAQuickDeathIsFirstAndAlone) {
  const std::string doctor = std::string("exec ") + REVEZA_PROGRAM + " doctor --json -- ";
  auto usual = ProblemsOf(doctor + "true");  // of this machine
  usual.emplace_back("partial-cores");       // comes and goes with the load of the moment
  const std::string limited = doctor + "sh -c 'ulimit ";
  const std::pair<const char*, std::string> seeds[] = {
      {"address-space", limited + "-v 300000; exec " REVEZA_PYTHON " -c \"bytearray(10**9)\"'"},
      {"address-space", limited + "-v 100000; exec " REVEZA_LIMITED_PROGRAM " throw 1000000000'"},
      {"data-limit", limited + "-d 100000; exec " REVEZA_LIMITED_PROGRAM " throw 1000000000'"},
      {"thread-local-data", doctor + REVEZA_LIMITED_PROGRAM " address-space " REVEZA_LATE_LIBRARY},
      {"open-files", limited + "-n 12; exec " REVEZA_PYTHON
                               " -c \"import os; [os.dup(0) for i in range(99)]\"'"}};
  for (const auto& [id, command] : seeds) {
    auto problems = ProblemsOf(command);
    ASSERT_FALSE(problems.empty()) << command;
    EXPECT_EQ(problems.front(), id) << command;
    std::erase_if(problems, [&](const std::string& problem) {
      return problem == id || std::ranges::find(usual, problem) != usual.end();
    });
    EXPECT_EQ(problems, std::vector<std::string>()) << command;
  }
}

// The threads are gone before anybody could count them, and root has a limit that does not bind it.
TEST(DoctorCommand, RecognisesTasksRefusedByItsControlGroup) {
  const auto place = platform::FindCgroup("pids");
  if (!place) GTEST_SKIP() << "no control groups here";
  const auto group = place->folder() / ("reveza-test-" + std::to_string(getpid()));
  const std::string enter = "mkdir " + group.string() + " && echo 40 >" +
                            (group / "pids.max").string() + " && echo $$ >" +
                            (group / "cgroup.procs").string();
  const auto entered = platform::Shell("(" + enter + ") 2>&1");
  rmdir(group.c_str());
  if (entered.status != 0) GTEST_SKIP() << entered.output;
  const platform::TestingDirectory folder;
  folder.Write("threads.py",
               "import threading, time\n"
               "for i in range(90): threading.Thread(target=time.sleep, args=(0.05,)).start()\n");
  const auto problems = ProblemsOf(enter +
                                   " && exec prlimit --nproc=5000 " REVEZA_PROGRAM
                                   " doctor --json -- " REVEZA_PYTHON " " +
                                   (folder / "threads.py").string());
  rmdir(group.c_str());
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems.front(), "cgroup-pids");
  EXPECT_EQ(std::ranges::find(problems, "process-limit"), problems.end());
}

TEST(DoctorCommand, DetectsALimitThatAScriptSetsItself) {
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

}  // namespace doctor_command_test
}  // namespace reveza::cli
