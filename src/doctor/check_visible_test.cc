#include <gtest/gtest.h>

#include "doctor/checks.h"
#include "doctor/visible.h"
#include "platform/testing_directory.h"

namespace reveza::doctor {
namespace {

using platform::TestingDirectory;

TEST(Visible, WhatMayNotBeReadIsSaid) {
  const auto found =
      JudgeHidden({{5, "train (pid 5)", 0, {"its mappings and libraries", "its variables"}},
                   {6, "other (pid 6)", 0, {}}});
  ASSERT_EQ(found.size(), 1u) << "of the other everything may be read";
  EXPECT_EQ(found[0].id, Id::kNotVisible);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].observed,
            "of train (pid 5) may not be read: its mappings and libraries, its variables");
  EXPECT_EQ(found[0].limit, "it belongs to user 0, or has taken other rights");
  EXPECT_TRUE(found[0].fix.starts_with("sudo reveza doctor --pid 5")) << found[0].fix;
}

TEST(Visible, WhatIsGoneOrEmptyIsNotHidden) {
  const TestingDirectory root;
  root.Write("proc/5/status", "Name: x\n");
  Subject subject;
  subject.root = root.path();
  subject.pid = 5;
  EXPECT_TRUE(CheckVisible(subject).empty());
  subject.pid = 0;
  EXPECT_TRUE(CheckVisible(subject).empty()) << "the machine belongs to all";
}

TEST(Visible, AProcessThatProcHidesIsNotFine) {
  const TestingDirectory root;
  Subject subject;
  subject.root = root.path();
  subject.pid = 5;
  const auto found = CheckVisible(subject);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_EQ(found[0].observed, "nothing of process 5 can be seen in /proc");
}

}  // namespace
}  // namespace reveza::doctor
