#include "reveza/jobs/journal/journal_reader.h"

#include <gtest/gtest.h>

#include <fstream>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_memory.h"

namespace reveza::jobs {
namespace journal_reader_test {

Identity Name(std::uint8_t first) {
  Identity identity{};
  identity[0] = first;
  return identity;
}

AttemptResult Attempt(std::uint8_t step, Outcome outcome, std::uint32_t attempt, WallTime ended) {
  AttemptResult result;
  result.name = {Name(step), attempt};
  result.outcome = outcome;
  result.code = static_cast<int>(attempt);
  result.ended = ended;
  return result;
}

class JournalReaderTest : public testing::Test {
 protected:
  // Five listed steps and an unlisted one: done, failed twice, unknown, waiting, failed once.
  JournalReaderTest() {
    auto journal = Journal::Open(path_);
    std::vector<ListedStep> steps;
    for (std::uint8_t n = 1; n <= 6; ++n) steps.push_back({Name(n), "n=" + std::to_string(n)});
    EXPECT_TRUE(journal->SetList(steps));
    steps.pop_back();
    EXPECT_TRUE(journal->SetList(steps));
    for (const auto& attempt :
         {Attempt(1, Outcome::kSuccess, 1, 10), Attempt(2, Outcome::kFailure, 1, 20),
          Attempt(2, Outcome::kFailure, 2, 30), Attempt(3, Outcome::kUnknown, 1, 40),
          Attempt(5, Outcome::kFailure, 1, 50)}) {
      EXPECT_TRUE(journal->RecordAttempt(attempt, {}));
    }
    EXPECT_TRUE(journal->MarkFailed(Name(2)));
    EXPECT_TRUE(journal->RecordCycle({{Name(1), 1}, 1, 5, "phi=1"}));
    EXPECT_TRUE(journal->RecordCycle({{Name(6), 1}, 1, 5, "phi=2"}));
    EXPECT_TRUE(journal->Set("key", "value"));
    EXPECT_TRUE(journal->Commit());
  }

  JournalReader Reader() {
    auto reader = JournalReader::Open(path_);
    EXPECT_TRUE(reader) << reader.error().message;
    return *std::move(reader);
  }

  platform::TestingDirectory folder_{platform::FolderInMemory()};
  std::filesystem::path path_ = folder_.path() / "journal.db";
};

TEST_F(JournalReaderTest, CountsListedSteps) {
  const auto counts = Reader().CountStates();
  ASSERT_TRUE(counts);
  EXPECT_EQ(*counts, (std::map<StepState, std::uint64_t>{{StepState::kWaiting, 1},
                                                         {StepState::kDone, 1},
                                                         {StepState::kFailed, 1},
                                                         {StepState::kUnknown, 1},
                                                         {StepState::kUndecided, 1}}));
}

TEST_F(JournalReaderTest, ReturnsUnsuccessfulStepsInOrder) {
  const auto steps = Reader().UnsuccessfulSteps();
  ASSERT_TRUE(steps);
  std::vector<std::size_t> numbers;
  for (const auto& step : *steps) numbers.push_back(step.number);
  EXPECT_EQ(numbers, (std::vector<std::size_t>{2, 3, 5}));
  EXPECT_EQ(steps->front().entry.label, "n=2");
}

TEST_F(JournalReaderTest, FindsStepsByNumberLabelAndIdentity) {
  auto reader = Reader();
  EXPECT_EQ(reader.FindStep("3")->value().entry.label, "n=3");
  EXPECT_EQ(reader.FindStep("n=5")->value().number, 5u);
  for (const char* absent : {"0", "6", "n=6", "", "n", "-1"}) {
    const auto step = reader.FindStep(absent);
    ASSERT_TRUE(step);
    EXPECT_FALSE(*step) << absent;
  }
  EXPECT_EQ(reader.FindStep(Name(6))->value().label, "n=6") << "unlisted";
  EXPECT_FALSE(*reader.FindStep(Name(7)));
}

TEST_F(JournalReaderTest, ReadsAttemptsCyclesAndValues) {
  auto reader = Reader();
  EXPECT_EQ(reader.LastAttempt(Name(2))->value().result.code, 2);
  EXPECT_FALSE(*reader.LastAttempt(Name(4)));
  EXPECT_EQ(reader.LastEnd()->value(), 50);
  EXPECT_EQ(reader.LastCycle(Name(1)), 1u);
  EXPECT_EQ(reader.LastCycle(Name(2)), 0u);
  EXPECT_EQ(reader.Get("key")->value(), "value");
  EXPECT_FALSE(*reader.Get("other"));
  std::vector<std::string> metrics;
  ASSERT_TRUE(reader.ForEachCycle([&](const auto& cycle) { metrics.push_back(cycle.metrics); }));
  EXPECT_EQ(metrics, std::vector<std::string>{"phi=1"}) << "not of the unlisted step";
}

TEST_F(JournalReaderTest, VerifiesTheRowsThatItReturns) {
  auto database = sqlite::Database::Open(path_);
  ASSERT_TRUE(database->Execute("UPDATE step SET label = 'n=9' WHERE id = 2"));
  auto reader = Reader();
  EXPECT_EQ(reader.UnsuccessfulSteps().error().code, Error::Code::kIncompatible);
  EXPECT_TRUE(reader.FindStep("3")) << "another row";
}

TEST_F(JournalReaderTest, RejectsWhatIsNoJournal) {
  EXPECT_EQ(JournalReader::Open(folder_ / "missing.db").error().code, Error::Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "missing.db"));
  std::ofstream(folder_ / "text.db") << "no database, however long it is";
  EXPECT_EQ(JournalReader::Open(folder_ / "text.db").error().code, Error::Code::kIncompatible);
  ASSERT_TRUE(sqlite::Database::Open(folder_ / "other.db")->Execute("CREATE TABLE a (b)"));
  EXPECT_EQ(JournalReader::Open(folder_ / "other.db").error().code, Error::Code::kIncompatible);
}

}  // namespace journal_reader_test
}  // namespace reveza::jobs
