// What survives the rebuild of a journal.
#include "reveza/jobs/engine/open_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/sqlite/sqlite.h"
#include "reveza/jobs/engine/added_steps.h"
#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace open_job_test {

class RepairTest : public EngineTest {
 protected:
  JobFolder Folder() const { return *JobFolder::Find(folder_.path(), "test"); }
  // In another process, like `reveza jobs add`.
  void Add(const Job& more) const {
    auto journal = Journal::Open(Folder().journal());
    ASSERT_TRUE(journal) << journal.error().message;
    ASSERT_TRUE(AddSteps(*journal, more));
    ASSERT_TRUE(SyncAddedSteps(Folder(), *journal));
    ASSERT_TRUE(journal->Commit());
  }
  void Execute(const std::string& sql) const {
    auto database = Database::Open(Folder().journal());
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->Execute(sql));
  }
  // Damages one row, so that its checksum does not match.
  void DamageARow() const { Execute("UPDATE step SET sum = sum + 1 WHERE id = 1"); }
  void DamageAll() const { std::ofstream(Folder().journal()) << "this is no database any more"; }
  std::string Note(const char* key) const {
    auto journal = Journal::Open(Folder().journal());
    const auto note = journal ? journal->Get(key) : std::nullopt;
    return note && *note ? **note : "";
  }
  Repaired Repair() const {
    EXPECT_FALSE(Journal::Open(Folder().journal())) << "not damaged";
    const auto repaired = RepairJob(Folder());
    EXPECT_TRUE(repaired) << repaired.error().message;
    return repaired.value_or(Repaired{});
  }
  Job Program(const std::string& version, int count) {
    std::filesystem::remove(folder_ / "program");
    std::ofstream(folder_ / "program") << "#!/bin/sh\necho " << version << " $1 >> ran\n";
    std::filesystem::permissions(folder_ / "program", std::filesystem::perms::owner_all);
    Job job = Shell("", count);
    job.commands[0].shell = false;
    job.commands[0].arguments = {"./program", "{n}"};
    return job;
  }
};

TEST_F(RepairTest, AddedStepsSurviveLossOfDatabase) {
  const Job job = Shell("echo {n} >> ran", 2);
  Run(job, Workers(1));
  Add(Shell("echo added {n} >> ran", 2));
  DamageAll();
  const Repaired repaired = Repair();
  EXPECT_EQ(repaired.attempts, 2u);
  EXPECT_EQ(repaired.kept, std::vector<std::string>{"added steps"});
  EXPECT_FALSE(repaired.added_lost);
  EXPECT_EQ(Run(job, Workers(1)).counts.done, 4u);
  EXPECT_EQ(Text("ran"), "1\n2\nadded 1\nadded 2\n");
}

TEST_F(RepairTest, AddedStepsAreReadFromDatabaseIfFileIsMissing) {
  const Job job = Shell("echo {n} >> ran", 1);
  Run(job, Workers(1));
  Add(Shell("echo added >> ran", 1));
  std::filesystem::remove(Folder().added());
  DamageARow();
  EXPECT_FALSE(Repair().added_lost);
  EXPECT_EQ(Run(job, Workers(1)).counts.done, 2u);
  EXPECT_TRUE(std::filesystem::exists(Folder().added())) << "the file is restored";
}

TEST_F(RepairTest, DamagedFileOfAddedStepsIsReported) {
  const Job job = Shell("echo {n} >> ran", 1);
  Run(job, Workers(1));
  Add(Shell("echo added >> ran", 1));
  std::ofstream(Folder().added(), std::ios::app) << " ";
  DamageAll();
  EXPECT_TRUE(Repair().added_lost);
  EXPECT_EQ(Run(job, Workers(1)).counts.done, 1u);
}

// A power cut after the file was written and before the journal's log was.
TEST_F(RepairTest, StepsOnlyInFileBelongToJob) {
  const Job job = Shell("echo {n} >> ran", 1);
  Run(job, Workers(1));
  Add(Shell("echo added >> ran", 1));
  Execute("DELETE FROM meta WHERE key = 'added'");
  EXPECT_EQ(Run(job, Workers(1)).counts.done, 2u);
  EXPECT_EQ(Text("ran"), "1\nadded\n");
}

TEST_F(RepairTest, ReadableDataIsKept) {
  const Job job = Shell("echo {n} >> ran; echo {n}", 3);
  Run(job, Workers(1));
  std::vector<AttemptEntry> before;
  {
    auto journal = Journal::Open(Folder().journal());
    before = *journal->AttemptsAfter(0);
  }
  const std::string learned = Note("learned");
  const std::string programs = Note("programs");
  ASSERT_FALSE(learned.empty() || programs.empty());
  DamageARow();
  const Repaired repaired = Repair();
  EXPECT_EQ(repaired.attempts, 3u);
  EXPECT_EQ(repaired.kept, (std::vector<std::string>{"learned step needs", "the output folder",
                                                     "program versions"}));
  EXPECT_EQ(Note("learned"), learned);
  EXPECT_EQ(Note("programs"), programs);
  EXPECT_EQ(Note("barrier"), "") << "all outputs are verified after a reboot";
  auto journal = Journal::Open(Folder().journal());
  const auto after = *journal->AttemptsAfter(0);
  ASSERT_EQ(after.size(), 3u);
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].result.name, before[i].result.name);
    EXPECT_NE(after[i].extra.output_hash, 0u);
    EXPECT_EQ(after[i].extra.output_hash, before[i].extra.output_hash);
    EXPECT_EQ(after[i].extra.peak, before[i].extra.peak);
  }
}

TEST_F(RepairTest, RecoveredAttemptsCountAsOldestProgram) {
  Run(Program("one", 2), Workers(1));
  Run(Program("two", 4), Workers(1));
  Execute("DELETE FROM attempt WHERE sequence = 4");
  DamageARow();
  EXPECT_EQ(Repair().attempts, 4u);
  EXPECT_EQ(Run(Program("two", 4), Workers(1)).done_before, 4u);
  const auto is_said = [](const std::string& note) {
    return note.contains("has changed since 3 steps finished");
  };
  EXPECT_EQ(std::ranges::count_if(notes_, is_said), 1) << (notes_.empty() ? "" : notes_[0]);
  EXPECT_EQ(Text("ran"), "one 1\none 2\ntwo 3\ntwo 4\n");
}

}  // namespace open_job_test
}  // namespace reveza::jobs
