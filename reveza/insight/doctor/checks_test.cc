// One check that goes wrong ends no other.
#include "reveza/insight/doctor/checks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "common/platform/testing_directory.h"

namespace reveza::doctor {
namespace checks_test {

using std::chrono::seconds;

Findings Good(const Subject& subject) {
  return {{Id::kSwap, Severity::kFine, Confidence::kRead, std::to_string(subject.pid), "", "", ""}};
}
Findings Crashes(const Subject&) {
  raise(SIGSEGV);
  return {};
}
Findings Hangs(const Subject&) {
  for (;;) pause();
}
Findings Ends(const Subject&) { _exit(0); }

TEST(RunAll, ReportsFailedChecksAndRunsTheOthers) {
  const std::array checks = {
      Check{"first", seconds(100), Good},  Check{"crashes", seconds(100), Crashes},
      Check{"second", seconds(100), Good}, Check{"hangs", seconds(1), Hangs},
      Check{"third", seconds(100), Good},  Check{"ends", seconds(100), Ends},
      Check{"fourth", seconds(100), Good},
  };
  Subject subject;
  subject.pid = 7;
  const auto found = RunAll(checks, subject);
  ASSERT_EQ(found.size(), 7u);
  for (const std::size_t good : {0, 2, 4, 6}) {
    EXPECT_EQ(found[good].id, Id::kSwap) << found[good].observed;
    EXPECT_EQ(found[good].observed, "7");
  }
  EXPECT_TRUE(found[1].observed.starts_with("the check 'crashes' crashed")) << found[1].observed;
  EXPECT_TRUE(found[3].observed.starts_with("the check 'hangs' exceeded its limit of 1 s"))
      << found[3].observed;
  EXPECT_TRUE(found[5].observed.starts_with("the check 'ends' crashed")) << found[5].observed;
  for (const std::size_t bad : {1, 3, 5}) EXPECT_EQ(found[bad].id, Id::kCheckFailed);
  EXPECT_EQ(ExitStatusOf(found), 1) << "a failed check is not fine";
}

using std::chrono::seconds;

TEST(Isolate, ReturnsTheFindings) {
  const Finding finding{Id::kSwap, Severity::kNote, Confidence::kMeasured, "a\nb", "", "c", "d"};
  EXPECT_EQ(RunIsolated("x", seconds(60), [&] { return Findings{finding, finding}; }),
            (Findings{finding, finding}));
  EXPECT_TRUE(RunIsolated("x", seconds(60), [] { return Findings{}; }).empty());
}

TEST(Isolate, ReturnsMoreThanAPipeHolds) {
  const Finding finding{
      Id::kSwap, Severity::kNote, Confidence::kMeasured, std::string(4000, 'x'), "", "c", "d"};
  EXPECT_EQ(RunIsolated("x", seconds(60), [&] { return Findings(100, finding); }).size(), 100u);
}

TEST(Isolate, ReportsACrash) {
  const auto killed = RunIsolated("limits", seconds(60), []() -> Findings {
    raise(SIGKILL);
    return {};
  });
  ASSERT_EQ(killed.size(), 1u);
  EXPECT_EQ(killed[0].id, Id::kCheckFailed);
  EXPECT_EQ(killed[0].observed, "the check 'limits' crashed: Killed");
  const auto ended = RunIsolated("limits", seconds(60), []() -> Findings { _exit(7); });
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_NE(ended[0].observed.find("status 7"), std::string::npos);
  const auto thrown =
      RunIsolated("limits", seconds(60), []() -> Findings { throw std::runtime_error("no"); });
  ASSERT_EQ(thrown.size(), 1u);
  EXPECT_EQ(thrown[0].id, Id::kCheckFailed);
}

TEST(Isolate, KillsAHangingCheckAndItsChildren) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto hung = RunIsolated("slow", std::chrono::milliseconds(300), []() -> Findings {
    if (fork() == 0) {
      for (;;) pause();
    }
    for (;;) pause();
  });
  ASSERT_EQ(hung.size(), 1u);
  EXPECT_NE(hung[0].observed.find("exceeded its limit"), std::string::npos);
  // Its end of the pipe is closed only when all who inherited it are gone.
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

using platform::TestingDirectory;

TEST(Visible, ReportsUnreadableParts) {
  const auto found =
      DiagnoseHidden({{5, "train (pid 5)", 0, {"its mappings and libraries", "its variables"}},
                      {6, "other (pid 6)", 0, {}}});
  ASSERT_EQ(found.size(), 1u) << "the other is readable";
  EXPECT_EQ(found[0].id, Id::kNotVisible);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].observed,
            "cannot read of train (pid 5): its mappings and libraries, its variables");
  EXPECT_NE(found[0].limit.find("user 0"), std::string::npos) << found[0].limit;
  EXPECT_TRUE(found[0].fix.starts_with("sudo reveza doctor --pid 5")) << found[0].fix;
}

TEST(Visible, MissingOrEmptyIsNotHidden) {
  const TestingDirectory root;
  root.Write("proc/5/status", "Name: x\n");
  Subject subject;
  subject.root = root.path();
  subject.pid = 5;
  EXPECT_TRUE(CheckVisible(subject).empty());
  subject.pid = 0;
  EXPECT_TRUE(CheckVisible(subject).empty()) << "the machine belongs to all";
}

TEST(Visible, ProcessHiddenByProcIsAWarning) {
  const TestingDirectory root;
  Subject subject;
  subject.root = root.path();
  subject.pid = 5;
  const auto found = CheckVisible(subject);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].observed, "process 5 is not visible in /proc");
}

}  // namespace checks_test
}  // namespace reveza::doctor
