// One check that goes wrong ends no other.
#include "doctor/checks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>

namespace reveza::doctor {
namespace {

using std::chrono::seconds;

Findings Good(const Subject& subject) {
  return {{Id::kSwap, Severity::kFine, Sureness::kRead, std::to_string(subject.pid), "", "", ""}};
}
Findings Crashes(const Subject&) {
  raise(SIGSEGV);
  return {};
}
Findings Hangs(const Subject&) {
  for (;;) pause();
}
Findings Ends(const Subject&) { _exit(0); }

TEST(RunAll, WhatCrashesHangsOrEndsIsSaidAndTheOthersRun) {
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
  EXPECT_TRUE(found[3].observed.starts_with("the check 'hangs' did not come back within 1 s"))
      << found[3].observed;
  EXPECT_TRUE(found[5].observed.starts_with("the check 'ends' crashed")) << found[5].observed;
  for (const std::size_t bad : {1, 3, 5}) EXPECT_EQ(found[bad].id, Id::kCheckFailed);
  EXPECT_EQ(ExitStatusOf(found), 1) << "what was not looked at is not fine";
}

}  // namespace
}  // namespace reveza::doctor
