// Programs that change after their steps have finished.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "reveza/jobs/engine/open_job.h"
#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace programs_test {

class ProgramTest : public EngineTest {
 protected:
  // A program that prints its version, with steps.
  Job Program(const std::string& version, int count, const std::string& name = "program") {
    const auto path = folder_ / name;
    std::filesystem::remove(path);
    std::ofstream(path) << "#!/bin/sh\necho " << version << " $1 >> ran\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    Job job = Shell("", count);
    job.commands[0].shell = false;
    job.commands[0].arguments = {"./" + name, "{n}"};
    return job;
  }
  static RunRequest Rerun() {
    RunRequest request = Workers(1);
    request.rerun_if_program_changed = true;
    return request;
  }
};

TEST_F(ProgramTest, ChangeIsReportedAndStepsStayDone) {
  Run(Program("one", 2), Workers(1));
  EXPECT_TRUE(notes_.empty());
  EXPECT_EQ(Run(Program("two", 3), Workers(1)).done_before, 2u);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("program has changed since 2 steps finished"), std::string::npos)
      << notes_[0];
  EXPECT_EQ(Text("ran"), "one 1\none 2\ntwo 3\n");
}

TEST_F(ProgramTest, RerunCoversOnlyOlderVersions) {
  Run(Program("one", 2), Workers(1));
  Run(Program("two", 3), Workers(1));
  EXPECT_EQ(Run(Program("two", 3), Rerun()).done_before, 1u);
  EXPECT_EQ(Text("ran"), "one 1\none 2\ntwo 3\ntwo 1\ntwo 2\n");
  EXPECT_EQ(Run(Program("two", 3), Rerun()).done_before, 3u);
  // Back to the first version: steps of the second count as changed.
  EXPECT_EQ(Run(Program("one", 3), Rerun()).done_before, 0u);
}

TEST_F(ProgramTest, RevertedProgramCountsAsOriginal) {
  Run(Program("one", 2), Workers(1));
  Run(Program("two", 3), Workers(1));
  EXPECT_EQ(Run(Program("one", 3), Rerun()).done_before, 2u);
  EXPECT_EQ(Text("ran"), "one 1\none 2\ntwo 3\none 3\n");
}

TEST_F(ProgramTest, PathMayBeArbitraryBytes) {
  const std::string name = "pro\xffgram";
  Run(Program("one", 2, name), Workers(1));
  EXPECT_TRUE(notes_.empty());
  Run(Program("two", 3, name), Workers(1));
  EXPECT_EQ(notes_.size(), 1u);
  EXPECT_EQ(Text("ran"), "one 1\none 2\ntwo 3\n");
}

}  // namespace programs_test
}  // namespace reveza::jobs
