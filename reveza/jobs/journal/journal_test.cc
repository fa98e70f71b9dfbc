#include "reveza/jobs/journal/journal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <set>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_memory.h"

namespace reveza::jobs {
namespace journal_test {

Identity Name(std::uint8_t first) {
  Identity identity{};
  identity[0] = first;
  return identity;
}

std::vector<ListedStep> Steps(std::initializer_list<std::uint8_t> numbers) {
  std::vector<ListedStep> steps;
  for (const auto number : numbers) {
    steps.push_back({Name(number), "seed=" + std::to_string(number)});
  }
  return steps;
}

AttemptResult Attempt(std::uint8_t step, Outcome outcome, std::uint32_t attempt = 1) {
  AttemptResult result;
  result.name = {Name(step), attempt};
  result.outcome = outcome;
  return result;
}

class JournalTest : public testing::Test {
 protected:
  Journal Open() {
    auto journal = Journal::Open(path_);
    EXPECT_TRUE(journal) << journal.error().message;
    return std::move(*journal);
  }

  platform::TestingDirectory folder_{platform::FolderInMemory()};
  std::filesystem::path path_ = folder_.path() / "journal.db";
};

TEST_F(JournalTest, PersistsStepsAndTheirStates) {
  {
    Journal journal = Open();
    ASSERT_TRUE(journal.SetList(Steps({1, 2, 3})));
    EXPECT_TRUE(journal.RecordAttempt(Attempt(1, Outcome::kSuccess), {}).value());
    EXPECT_TRUE(journal.RecordAttempt(Attempt(2, Outcome::kFailure), {}).value());
    ASSERT_TRUE(journal.Commit());
  }
  Journal journal = Open();
  const auto list = journal.List();
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->size(), 3u);
  EXPECT_EQ((*list)[0].state, StepState::kDone);
  EXPECT_EQ((*list)[1].state, StepState::kUndecided);
  EXPECT_EQ((*list)[1].attempts, 1u);
  ASSERT_TRUE(journal.MarkFailed(Name(2)));
  EXPECT_EQ(journal.List()->at(1).state, StepState::kFailed);
  EXPECT_EQ((*list)[2].state, StepState::kWaiting);
  EXPECT_EQ((*list)[2].label, "seed=3");
  EXPECT_EQ((*list)[2].files, "000/3");
}

TEST_F(JournalTest, DropsUncommittedResults) {
  {
    Journal journal = Open();
    ASSERT_TRUE(journal.SetList(Steps({1})));
    ASSERT_TRUE(journal.RecordAttempt(Attempt(1, Outcome::kSuccess), {}));
    EXPECT_TRUE(journal.dirty());
  }
  Journal journal = Open();
  EXPECT_EQ(journal.List()->front().state, StepState::kWaiting);
}

TEST_F(JournalTest, SetListKeepsKnownSteps) {
  Journal journal = Open();
  ASSERT_TRUE(journal.SetList(Steps({1, 2, 3})));
  ASSERT_TRUE(journal.RecordAttempt(Attempt(2, Outcome::kSuccess), {}));
  ASSERT_TRUE(journal.SetList(Steps({4, 2})));
  const auto list = journal.List();
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0].label, "seed=4");
  EXPECT_EQ((*list)[1].state, StepState::kDone);
  // Removed steps may return.
  ASSERT_TRUE(journal.RecordAttempt(Attempt(1, Outcome::kSuccess), {}));
  ASSERT_TRUE(journal.SetList(Steps({1, 2, 3, 4})));
  EXPECT_EQ(journal.List()->front().state, StepState::kDone);
}

std::int64_t Number(const std::filesystem::path& file, const std::string& question) {
  auto database = Database::Open(file.string());
  return database ? database->Number(question).value_or(-1) : -1;
}

TEST_F(JournalTest, AListIsWrittenAsAWholeOrNotAtAll) {
  const auto many = [](std::size_t index) {
    ListedStep step{{}, "n"};
    std::memcpy(step.identity.data(), &index, sizeof(index));
    return step;
  };
  constexpr std::size_t kSteps = 5000;
  const pid_t writer = fork();
  if (writer == 0) {
    auto journal = Journal::Open(path_);
    if (!journal) _exit(1);
    // Killed in the middle.
    static_cast<void>(journal->SetList(kSteps, [&](std::size_t index) {
      if (index == kSteps - 1) _exit(0);
      return many(index);
    }));
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(writer, &status, 0), writer);
  ASSERT_EQ(status, 0);
  {
    Journal journal = Open();
    EXPECT_TRUE(journal.List()->empty());
    EXPECT_EQ(journal.SetList(kSteps, many), true) << "all are new";
    EXPECT_EQ(journal.List()->size(), kSteps);
  }
  Journal journal = Open();
  EXPECT_EQ(journal.List()->at(kSteps - 1).id, std::int64_t{kSteps});
  EXPECT_EQ(journal.SetList(kSteps, many), false) << "none is new";
  EXPECT_EQ(Number(path_, "SELECT count(*) FROM sqlite_master WHERE name = 'step_identity'"), 1);
}

TEST_F(JournalTest, AListWithEqualStepsIsRefused) {
  Journal journal = Open();
  EXPECT_FALSE(journal.SetList(Steps({1, 2, 1})));
  EXPECT_FALSE(journal.dirty());
  EXPECT_TRUE(journal.List()->empty());
  ASSERT_TRUE(journal.SetList(Steps({1, 2})));
  EXPECT_EQ(journal.List()->size(), 2u);
  EXPECT_TRUE(journal.Find(Name(2)).value());
}

// The table of earlier versions declares the identities unique.
TEST_F(JournalTest, OpensJournalsOfEarlierVersions) {
  Open();
  for (const bool empty : {true, false}) {
    auto database = Database::Open(path_.string());
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->Execute(
        "BEGIN;"
        "CREATE TABLE old (id INTEGER PRIMARY KEY, identity BLOB NOT NULL UNIQUE, "
        "position INTEGER, state INTEGER NOT NULL, attempts INTEGER NOT NULL, "
        "label TEXT NOT NULL, files TEXT NOT NULL, sum INTEGER NOT NULL);"
        "INSERT INTO old SELECT * FROM step; DROP TABLE step; ALTER TABLE old RENAME TO step;"
        "COMMIT"));
    Journal journal = Open();
    EXPECT_EQ(journal.List()->size(), empty ? 0u : 3u);
    EXPECT_EQ(journal.SetList(Steps({1, 2, 3})), empty);
    ASSERT_TRUE(journal.RecordAttempt(Attempt(2, Outcome::kSuccess, empty ? 1 : 2), {}));
    ASSERT_TRUE(journal.Commit());
    EXPECT_EQ(journal.List()->at(1).state, StepState::kDone);
    EXPECT_EQ(Number(path_, "SELECT count(*) FROM sqlite_master WHERE tbl_name = 'step'"), 2)
        << "a table and one index";
  }
}

TEST_F(JournalTest, NeverReusesIds) {
  Journal journal = Open();
  ASSERT_TRUE(journal.SetList(Steps({1, 2})));
  ASSERT_TRUE(journal.SetList(Steps({2, 3})));
  ASSERT_TRUE(journal.SetList(Steps({1, 2, 3})));
  const auto list = journal.List();
  ASSERT_EQ(list->size(), 3u);
  EXPECT_NE((*list)[0].files, (*list)[1].files);
  EXPECT_NE((*list)[1].files, (*list)[2].files);
  EXPECT_NE((*list)[0].files, (*list)[2].files);
}

TEST_F(JournalTest, RecordsAttemptsOnceAndKeepsSuccess) {
  Journal journal = Open();
  ASSERT_TRUE(journal.SetList(Steps({1})));
  EXPECT_TRUE(journal.RecordAttempt(Attempt(1, Outcome::kSuccess), {}).value());
  EXPECT_FALSE(journal.RecordAttempt(Attempt(1, Outcome::kFailure), {}).value());
  EXPECT_TRUE(journal.RecordAttempt(Attempt(1, Outcome::kFailure, 2), {}).value());
  EXPECT_EQ(journal.List()->front().state, StepState::kDone);
  EXPECT_EQ(journal.Attempts(Name(1))->size(), 2u);
  EXPECT_EQ(journal.Attempts(Name(1))->front().result.outcome, Outcome::kSuccess);
}

TEST_F(JournalTest, CancelledAttemptLeavesTheStepWaiting) {
  Journal journal = Open();
  ASSERT_TRUE(journal.SetList(Steps({1})));
  ASSERT_TRUE(journal.RecordAttempt(Attempt(1, Outcome::kCancelled), {}));
  EXPECT_EQ(journal.List()->front().state, StepState::kWaiting);
  EXPECT_EQ(journal.List()->front().attempts, 1u);
}

// Old cycles are still in the supervisors' records, which may be imported again.
TEST_F(JournalTest, ResetStepDiscardsPreviousCycles) {
  const CycleResult before{{Name(1), 1}, 1, 0, ""};
  {
    Journal journal = Open();
    ASSERT_TRUE(journal.SetList(Steps({1})));
    ASSERT_TRUE(journal.RecordCycle(before));
    ASSERT_TRUE(journal.RecordAttempt(Attempt(1, Outcome::kSuccess), {}));
    ASSERT_TRUE(journal.ResetStep(Name(1)));
    EXPECT_FALSE(journal.RecordCycle(before).value());
    ASSERT_TRUE(journal.Commit());
  }
  Journal journal = Open();
  EXPECT_FALSE(journal.RecordCycle(before).value());
  EXPECT_EQ(journal.FirstMissingCycle(Name(1), 3).value(), 1u);
  EXPECT_TRUE(journal.RecordCycle(CycleResult{{Name(1), 2}, 1, 0, ""}).value());
  EXPECT_EQ(journal.FirstMissingCycle(Name(1), 3).value(), 2u);
}

TEST_F(JournalTest, AdoptedStepKeepsItsOutputPath) {
  Journal journal = Open();
  ASSERT_TRUE(journal.Adopt({{Name(7), 1}, 0, "n=7", "/o/000/3.out", "/o/000/3.err"}));
  ASSERT_TRUE(journal.SetList(Steps({1, 2, 3, 4, 7})));
  std::set<std::string> files;
  for (const std::uint8_t number : {1, 2, 3, 4, 7}) {
    files.insert(journal.Find(Name(number)).value()->files);
  }
  EXPECT_EQ(files.size(), 5u);
  EXPECT_TRUE(files.contains("000/3"));
}

// Records may be imported out of order.
TEST_F(JournalTest, LastAttemptDecidesInAnyOrder) {
  Journal journal = Open();
  ASSERT_TRUE(journal.SetList(Steps({1, 2})));
  ASSERT_TRUE(journal.RecordAttempt(Attempt(1, Outcome::kCancelled, 2), {}));
  ASSERT_TRUE(journal.RecordAttempt(Attempt(1, Outcome::kFailure, 1), {}));
  EXPECT_EQ(journal.List()->front().state, StepState::kWaiting);
  ASSERT_TRUE(journal.RecordAttempt(Attempt(2, Outcome::kFailure, 2), {}));
  ASSERT_TRUE(journal.RecordAttempt(Attempt(2, Outcome::kSuccess, 1), {}));
  EXPECT_EQ(journal.List()->back().state, StepState::kDone);
}

TEST_F(JournalTest, RequeueReturnsAStepToWaiting) {
  Journal journal = Open();
  ASSERT_TRUE(journal.SetList(Steps({1})));
  ASSERT_TRUE(journal.RecordAttempt(Attempt(1, Outcome::kSuccess), {}));
  ASSERT_TRUE(journal.Requeue(Name(1)));
  EXPECT_EQ(journal.List()->front().state, StepState::kWaiting);
}

TEST_F(JournalTest, FindsTheFirstMissingCycle) {
  Journal journal = Open();
  ASSERT_TRUE(journal.SetList(Steps({1})));
  EXPECT_EQ(journal.FirstMissingCycle(Name(1), 5).value(), 1u);
  for (const std::uint64_t number : {1, 2, 4}) {
    EXPECT_TRUE(journal.RecordCycle(CycleResult{{Name(1), 1}, number, 0, "phi=0.5"}).value());
  }
  EXPECT_FALSE(journal.RecordCycle(CycleResult{{Name(1), 2}, 2, 0, "phi=0.9"}).value());
  EXPECT_EQ(journal.FirstMissingCycle(Name(1), 5).value(), 3u);
  ASSERT_TRUE(journal.RecordCycle(CycleResult{{Name(1), 2}, 3, 0, ""}));
  ASSERT_TRUE(journal.RecordCycle(CycleResult{{Name(1), 2}, 5, 0, ""}));
  EXPECT_EQ(journal.FirstMissingCycle(Name(1), 5).value(), 6u);
  EXPECT_EQ(journal.Cycles(Name(1))->at(1).metrics, "phi=0.5");
}

TEST_F(JournalTest, StoresValuesByKey) {
  Journal journal = Open();
  EXPECT_EQ(journal.Get("folder").value(), std::nullopt);
  ASSERT_TRUE(journal.Set("folder", "/a"));
  ASSERT_TRUE(journal.Set("folder", "/b"));
  EXPECT_EQ(journal.Get("folder").value(), "/b");
}

TEST_F(JournalTest, RejectsResultsOfUnknownSteps) {
  Journal journal = Open();
  const auto noted = journal.RecordAttempt(Attempt(9, Outcome::kSuccess), {});
  ASSERT_FALSE(noted);
  EXPECT_EQ(noted.error().code, Error::Code::kNotFound);
}

TEST_F(JournalTest, RejectsOtherFiles) {
  std::ofstream(path_) << "this is a text file, long enough to be taken for a SQLite header";
  auto journal = Journal::Open(path_);
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().code, Error::Code::kIncompatible);
  std::filesystem::remove(path_);
  {
    auto other = Database::Open(path_.string());
    ASSERT_TRUE(other->Execute("CREATE TABLE mine (x)"));
  }
  journal = Journal::Open(path_);
  ASSERT_FALSE(journal);
  EXPECT_NE(journal.error().message.find("not a job journal"), std::string::npos);
}

TEST_F(JournalTest, RejectsOtherVersions) {
  Open();
  {
    auto database = Database::Open(path_.string());
    ASSERT_TRUE(database->Execute("PRAGMA user_version=99"));
  }
  const auto journal = Journal::Open(path_);
  ASSERT_FALSE(journal);
  EXPECT_NE(journal.error().message.find("version 99"), std::string::npos);
}

TEST_F(JournalTest, RejectsRowsWithWrongChecksums) {
  for (const char* change :
       {"UPDATE step SET state = 1 WHERE id = 2", "UPDATE attempt SET outcome = 0",
        "UPDATE attempt SET attempt = 2", "UPDATE cycle SET metrics = 'phi=9'"}) {
    std::filesystem::remove(path_);
    {
      Journal journal = Open();
      ASSERT_TRUE(journal.SetList(Steps({1, 2})));
      ASSERT_TRUE(journal.RecordAttempt(Attempt(1, Outcome::kFailure), {}));
      ASSERT_TRUE(journal.RecordCycle(CycleResult{{Name(1), 1}, 1, 0, "phi=0.5"}));
      ASSERT_TRUE(journal.Commit());
    }
    {
      auto database = Database::Open(path_.string());
      ASSERT_TRUE(database->Execute(change));
    }
    const auto journal = Journal::Open(path_);
    ASSERT_FALSE(journal) << change;
    EXPECT_EQ(journal.error().code, Error::Code::kIncompatible);
  }
}

// A damaged file is rejected, or reads as it was written.
TEST_F(JournalTest, DetectsRandomDamage) {
  {
    Journal journal = Open();
    std::vector<ListedStep> steps;
    for (std::uint8_t i = 1; i <= 40; ++i) steps.push_back({Name(i), "seed=" + std::to_string(i)});
    ASSERT_TRUE(journal.SetList(steps));
    for (std::uint8_t i = 1; i <= 20; ++i) {
      ASSERT_TRUE(journal.RecordAttempt(Attempt(i, Outcome::kSuccess), {}));
    }
    ASSERT_TRUE(journal.Checkpoint());
  }
  std::ifstream file(path_, std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(file), {}};
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::string bad = good;
    for (int i = 0; i < 3; ++i) bad[random() % bad.size()] = static_cast<char>(random());
    const auto path = folder_.path() / "damaged.db";
    std::ofstream(path, std::ios::binary) << bad;
    auto journal = Journal::Open(path);
    if (!journal) {
      ++refused;
      continue;
    }
    const auto list = journal->List();
    if (!list) {
      ++refused;
      continue;
    }
    for (const auto& step : *list) {
      EXPECT_EQ(step.label, "seed=" + std::to_string(step.identity[0]));
      EXPECT_EQ(step.state, step.identity[0] <= 20 ? StepState::kDone : StepState::kWaiting);
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace journal_test
}  // namespace reveza::jobs
