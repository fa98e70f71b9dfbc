// Adding steps to a job in any state.
#include <gtest/gtest.h>

#include "reveza/jobs/engine/added_steps.h"
#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace engine_added_test {

class AddedTest : public EngineTest {
 protected:
  void Add(const Job& more, std::uint64_t events) {
    auto journal = Journal::Open(folder_ / "jobs/test/journal.db");
    ASSERT_TRUE(journal) << journal.error().message;
    EXPECT_EQ(AddSteps(*journal, more).value(), events);
    ASSERT_TRUE(journal->Commit());
  }
};

TEST_F(AddedTest, ValuesMayBeArbitraryBytes) {
  Run(Shell("echo {n} >> ran", 1));
  Job more = Shell("echo {n} >> ran", 1);
  more.steps[0].parameters = {{"n", "\xff\xfe"}};
  Add(more, 1);
  EXPECT_EQ(Run(Shell("echo {n} >> ran", 1)).counts.done, 2u);
  EXPECT_EQ(Text("ran"), "1\n\xff\xfe\n");
}

TEST_F(AddedTest, AddWhileRunnerStarts) {
  Job job = Shell("echo {n} >> ran", 2);
  auto expander = Expander::Make(job);
  auto opened = OpenJob(folder_.path(), job, *expander, Workers(1), REVEZA_SUPERVISOR);
  ASSERT_TRUE(opened) << opened.error().message;
  Job more = Shell("echo {n} >> ran", 4);
  more.commands[0].priority = -1;
  Add(more, 2);
  Engine engine(std::move(opened->parts), listener_);
  const auto summary = engine.Run();
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->counts.done, 4u);
  EXPECT_EQ(Text("ran"), "1\n2\n3\n4\n");
}

}  // namespace engine_added_test
}  // namespace reveza::jobs
