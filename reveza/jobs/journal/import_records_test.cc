#include "reveza/jobs/journal/import_records.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "common/platform/testing_directory.h"
#include "common/platform/testing_memory.h"
#include "common/sqlite/sqlite.h"

namespace reveza::jobs {
namespace import_records_test {

AttemptName Name(std::uint8_t step) {
  AttemptName name;
  name.identity[0] = step;
  name.attempt = 1;
  return name;
}

AttemptResult Success(std::uint8_t step) {
  AttemptResult result;
  result.name = Name(step);
  result.outcome = Outcome::kSuccess;
  return result;
}

AttemptStarted Started(std::uint8_t step) {
  const std::string files = "000/" + std::to_string(step);
  return {Name(step), 1, "n", files + ".out", files + ".err"};
}

class ImportRecordsTest : public testing::Test {
 protected:
  ImportRecordsTest() : folder_(*JobFolder::Create(root_.path(), "job")) {}

  // Writes the record of a supervisor that has ended.
  std::filesystem::path Write(std::uint8_t step) const {
    const auto path = folder_.NewRecord();
    auto record = RecordWriter::Create(path);
    EXPECT_TRUE(record) << record.error().message;
    EXPECT_TRUE(record->Append(Started(step)));
    EXPECT_TRUE(record->Append(Success(step)));
    return path;
  }
  ImportResult Import() const {
    auto journal = Journal::Open(folder_.journal());
    EXPECT_TRUE(journal) << journal.error().message;
    auto imported = ImportRecords(folder_, *journal, Supervisors::kOrphans);
    EXPECT_TRUE(imported) << imported.error().message;
    return imported.value_or(ImportResult{});
  }

  platform::TestingDirectory root_{platform::FolderInMemory()};
  JobFolder folder_;
};

TEST_F(ImportRecordsTest, ARecordIsReadOnce) {
  const auto path = Write(1);
  EXPECT_EQ(Import().attempts, 1u);
  // What is no record would be put aside, and count as unknown.
  const auto size = std::filesystem::file_size(path);
  std::ofstream(path, std::ios::binary) << std::string(size, 'x');
  EXPECT_EQ(Import().unknown, 0u);
  EXPECT_TRUE(std::filesystem::exists(path));
  std::ofstream(path, std::ios::binary | std::ios::app) << "x";
  EXPECT_EQ(Import().unknown, 1u) << "it has grown";
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ImportRecordsTest, ARecordThatGrowsIsReadAgain) {
  const auto path = Write(1);
  EXPECT_EQ(Import().attempts, 1u);
  std::ofstream(path, std::ios::binary | std::ios::app)
      << PackEntry(Started(2)) << PackEntry(Success(2));
  EXPECT_EQ(Import().attempts, 1u);
}

TEST_F(ImportRecordsTest, ARecordIsReadAgainUntilItsSupervisorHasEnded) {
  auto record = RecordWriter::Create(folder_.NewRecord());
  ASSERT_TRUE(record);
  ASSERT_TRUE(record->Append(Started(1)));
  EXPECT_EQ(Import().live.size(), 1u);
  EXPECT_EQ(Import().live.size(), 1u);
  ASSERT_TRUE(record->Append(Success(1)));
  record = std::unexpected(Error{});
  EXPECT_EQ(Import().attempts, 1u);
}

TEST_F(ImportRecordsTest, ALostJournalIsRebuiltFromRecordsThatItHadReadBefore) {
  Write(1);
  Write(2);
  EXPECT_EQ(Import().attempts, 2u);
  {
    auto database = sqlite::Database::Open(folder_.journal().string());
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->Execute("DELETE FROM attempt WHERE sequence = 1"));
  }
  const auto rebuilt = RebuildJournal(folder_);
  ASSERT_TRUE(rebuilt) << rebuilt.error().message;
  EXPECT_EQ(rebuilt->imported.attempts, 2u);
  EXPECT_EQ(rebuilt->from_record.size(), 1u);
}

}  // namespace import_records_test
}  // namespace reveza::jobs
