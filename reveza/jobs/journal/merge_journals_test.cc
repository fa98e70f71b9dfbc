#include "reveza/jobs/journal/merge_journals.h"

#include <gtest/gtest.h>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_memory.h"

namespace reveza::jobs {
namespace merge_journals_test {

using Labels = std::vector<std::string>;

Identity Name(std::uint8_t first) {
  Identity identity{};
  identity[0] = first;
  return identity;
}

AttemptResult Attempt(std::uint8_t step, Outcome outcome, WallTime began,
                      std::uint32_t attempt = 1) {
  AttemptResult result;
  result.name = {Name(step), attempt};
  result.outcome = outcome;
  result.began = began;
  return result;
}

class MergeTest : public testing::Test {
 protected:
  Journal Open(const std::string& name) { return *Journal::Open(folder_ / name); }

  // Writes a journal of these attempts, whose steps it lists.
  void Write(const std::string& name, std::initializer_list<AttemptResult> attempts) {
    Journal journal = Open(name);
    std::vector<ListedStep> steps;
    for (const auto& attempt : attempts) {
      const auto number = attempt.name.identity[0];
      const ListedStep step{Name(number), "n=" + std::to_string(number)};
      if (std::ranges::find(steps, step.identity, &ListedStep::identity) == steps.end()) {
        steps.push_back(step);
      }
    }
    ASSERT_TRUE(journal.SetList(steps));
    for (const auto& attempt : attempts) ASSERT_TRUE(journal.RecordAttempt(attempt, {}));
    ASSERT_TRUE(journal.Commit());
  }

  MergeResult Merge(const std::string& name, Journal& journal) {
    auto reader = JournalReader::Open(folder_ / name);
    auto merged = MergeJournal(*reader, "/shared/" + name, journal);
    EXPECT_TRUE(merged) << merged.error().message;
    return merged.value_or(MergeResult{});
  }

  platform::TestingDirectory folder_{platform::FolderInMemory()};
};

TEST_F(MergeTest, CollectsWhatMachinesHaveDone) {
  Write("a", {Attempt(1, Outcome::kSuccess, 10), Attempt(2, Outcome::kFailure, 20)});
  Write("b", {Attempt(3, Outcome::kSuccess, 10)});
  Journal journal = Open("all");
  EXPECT_EQ(Merge("a", journal).steps, 2u);
  EXPECT_EQ(Merge("b", journal).attempts, 1u);
  const auto list = *journal.List();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].state, StepState::kDone);
  EXPECT_EQ(list[0].files, "/shared/a/000/1");
  EXPECT_EQ(list[1].state, StepState::kUndecided);
  EXPECT_EQ(list[2].label, "n=3");
  EXPECT_EQ(list[2].files, "/shared/b/000/1");
}

TEST_F(MergeTest, MergesTheSameJournalOnce) {
  Write("a", {Attempt(1, Outcome::kFailure, 10), Attempt(1, Outcome::kSuccess, 20, 2)});
  Journal journal = Open("all");
  EXPECT_EQ(Merge("a", journal).attempts, 2u);
  const auto again = Merge("a", journal);
  EXPECT_EQ(again.steps + again.attempts + again.duplicates.size(), 0u);
  EXPECT_EQ(journal.Attempts(Name(1))->size(), 2u);
}

TEST_F(MergeTest, SuccessWinsInEitherOrder) {
  Write("good", {Attempt(1, Outcome::kSuccess, 10)});
  Write("bad", {Attempt(1, Outcome::kFailure, 20)});
  for (const auto& order : {Labels{"good", "bad"}, Labels{"bad", "good"}}) {
    Journal journal = Open(order[0] + "_first");
    for (const auto& name : order) EXPECT_EQ(Merge(name, journal).duplicates, Labels{});
    const auto list = *journal.List();
    EXPECT_EQ(list[0].state, StepState::kDone) << order[0];
    EXPECT_EQ(list[0].files, "/shared/good/000/1") << order[0];
    const auto attempts = *journal.Attempts(Name(1));
    ASSERT_EQ(attempts.size(), 2u);
    EXPECT_EQ(attempts[1].result.name.attempt, 2u) << "both were the first of their machine";
  }
}

TEST_F(MergeTest, TellsWhatWasDoneTwice) {
  Write("a", {Attempt(1, Outcome::kSuccess, 10), Attempt(2, Outcome::kSuccess, 10)});
  Write("b", {Attempt(2, Outcome::kSuccess, 20), Attempt(3, Outcome::kSuccess, 20)});
  Journal journal = Open("all");
  EXPECT_EQ(Merge("a", journal).duplicates, Labels{});
  EXPECT_EQ(Merge("b", journal).duplicates, Labels{"n=2"});
  EXPECT_EQ(journal.List()->at(1).files, "/shared/a/000/2") << "of the first success";
}

TEST_F(MergeTest, MergesCyclesOnce) {
  for (const std::string name : {"a", "b"}) {
    Write(name, {Attempt(1, Outcome::kFailure, name == "a" ? 10 : 20)});
    Journal journal = Open(name);
    for (std::uint64_t number = 1; number <= (name == "a" ? 3u : 5u); ++number) {
      ASSERT_TRUE(journal.RecordCycle({{Name(1), 1}, number, 0, "from=" + name}));
    }
    ASSERT_TRUE(journal.Commit());
  }
  Journal journal = Open("all");
  Merge("a", journal);
  Merge("b", journal);
  const auto cycles = *journal.Cycles(Name(1));
  ASSERT_EQ(cycles.size(), 5u);
  EXPECT_EQ(cycles[2].metrics, "from=a");
  EXPECT_EQ(cycles[3].metrics, "from=b");
  EXPECT_EQ(cycles[3].name.attempt, 2u) << "as the attempt is numbered here";
}

TEST_F(MergeTest, ChangesNothingIfARowIsDamaged) {
  Write("a", {Attempt(1, Outcome::kSuccess, 10), Attempt(2, Outcome::kSuccess, 20)});
  ASSERT_TRUE(sqlite::Database::Open(folder_ / "a")
                  ->Execute("UPDATE attempt SET code = 7 WHERE sequence = 2"));
  Journal journal = Open("all");
  auto reader = JournalReader::Open(folder_ / "a");
  const auto merged = MergeJournal(*reader, "/shared/a", journal);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, Error::Code::kIncompatible);
  EXPECT_TRUE(journal.List()->empty());
}

TEST_F(MergeTest, MergesACopy) {
  Write("a", {Attempt(1, Outcome::kSuccess, 10)});
  ASSERT_TRUE(Open("a").CopyTo(folder_ / "copy"));
  EXPECT_FALSE(Open("a").CopyTo(folder_ / "copy")) << "exists";
  Journal journal = Open("all");
  EXPECT_EQ(Merge("copy", journal).attempts, 1u);
}

}  // namespace merge_journals_test
}  // namespace reveza::jobs
