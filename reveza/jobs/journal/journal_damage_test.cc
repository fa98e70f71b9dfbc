// Truncates and damages journals: they must read as written, or be rejected and rebuilt from the
// records.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "common/platform/testing_descriptors.h"
#include "common/platform/testing_directory.h"
#include "common/platform/testing_memory.h"
#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {
namespace journal_damage_test {

namespace fs = std::filesystem;

constexpr std::uint8_t kListed = 6;

Identity Name(std::uint8_t number) {
  Identity identity{};
  identity.fill(number);
  return identity;
}

std::string Label(std::uint8_t number) { return "seed=" + std::to_string(number); }

AttemptResult Success(std::uint8_t number) {
  AttemptResult result;
  result.name = {Name(number), 1};
  result.outcome = Outcome::kSuccess;
  result.began = number;
  result.ended = 1000 + number;
  result.output_bytes = number;
  return result;
}

std::string Bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class JournalDamageTest : public testing::Test {
 protected:
  JournalDamageTest() : folder_(*JobFolder::Create(root_.path(), "job")) {}

  void Put(const std::string& database, const std::string& log) const {
    fs::remove(folder_.journal().string() + "-shm");
    std::ofstream(folder_.journal(), std::ios::binary) << database;
    std::ofstream(folder_.journal().string() + "-wal", std::ios::binary) << log;
  }

  // Opens a journal with small pages, for a short log with many of them.
  Journal OpenSmall() const {
    {
      auto database = Database::Open(folder_.journal());
      EXPECT_TRUE(database && database->Execute("PRAGMA page_size=512; VACUUM"));
    }
    auto journal = Journal::Open(folder_.journal());
    EXPECT_TRUE(journal) << journal.error().message;
    return std::move(*journal);
  }

  static std::vector<ListedStep> Steps() {
    std::vector<ListedStep> steps;
    for (std::uint8_t i = 1; i <= kListed; ++i) steps.push_back({Name(i), Label(i)});
    return steps;
  }

  // Writes the record of a supervisor that has finished steps 1..count.
  void WriteRecord(std::uint8_t count) const {
    auto record = RecordWriter::Create(folder_.NewRecord());
    ASSERT_TRUE(record) << record.error().message;
    for (std::uint8_t i = 1; i <= count; ++i) {
      ASSERT_TRUE(record->Append(AttemptStarted{{Name(i), 1}, i, Label(i), "000/1.out", ""}));
      ASSERT_TRUE(record->Append(Success(i)));
    }
  }

  // Returns how many of the first steps are done, according to all read methods, or the error that
  // rejects the journal. Inconsistent contents fail the test.
  Result<int> CountDone() const {
    auto journal = Journal::Open(folder_.journal());
    if (!journal) return std::unexpected(journal.error());
    const auto list = journal->List();
    if (!list) return std::unexpected(list.error());
    // The order of the list has no checksum; each run sets it again.
    int done = 0;
    int last = 0;
    for (std::uint8_t number = 1; number <= kListed && !list->empty(); ++number) {
      const auto step = journal->Find(Name(number));
      if (!step) return std::unexpected(step.error());
      EXPECT_TRUE(*step) << "step " << int{number} << " cannot be found";
      if (!*step) continue;
      EXPECT_EQ((*step)->label, Label(number));
      const bool is_done = (*step)->state == StepState::kDone;
      EXPECT_TRUE(is_done || (*step)->state == StepState::kWaiting);
      done += is_done ? 1 : 0;
      if (is_done) last = number;
      const auto attempts = journal->Attempts(Name(number));
      if (!attempts) return std::unexpected(attempts.error());
      EXPECT_EQ(attempts->size(), is_done ? 1u : 0u) << "step " << int{number};
      for (const auto& attempt : *attempts) {
        EXPECT_EQ(attempt.result.output_bytes, number);
        EXPECT_EQ(attempt.result.ended, 1000 + number);
      }
    }
    EXPECT_EQ(last, done) << "finished steps must be contiguous";
    const auto after = journal->AttemptsAfter(0);
    if (!after) return std::unexpected(after.error());
    EXPECT_EQ(after->size(), static_cast<std::size_t>(done));
    return done;
  }

  platform::TestingDirectory root_{platform::FolderInMemory()};
  JobFolder folder_;
};

// The step list is in the database, one commit per step in the log.
TEST_F(JournalDamageTest, TruncatedLogKeepsEarlierCommits) {
  std::string database;
  std::string log;
  {
    Journal journal = OpenSmall();
    ASSERT_TRUE(journal.SetList(Steps()));
    ASSERT_TRUE(journal.Checkpoint());
    constexpr std::uint8_t kCommits = 2;
    for (std::uint8_t i = 1; i <= kCommits; ++i) {
      ASSERT_TRUE(journal.RecordAttempt(Success(i), {}));
      ASSERT_TRUE(journal.Commit());
    }
    database = Bytes(folder_.journal());
    log = Bytes(folder_.journal().string() + "-wal");
  }
  ASSERT_LT(log.size(), 20'000u);
  int before = 0;
  for (std::size_t size = 0; size <= log.size() && !HasFailure(); ++size) {
    SCOPED_TRACE("the first " + std::to_string(size) + " bytes of the log");
    Put(database, log.substr(0, size));
    const auto done = CountDone();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_GE(*done, before);
    before = *done;
  }
  EXPECT_EQ(before, 2);
}

TEST_F(JournalDamageTest, DamagedLogKeepsEarlierCommits) {
  std::string database;
  std::string log;
  {
    Journal journal = OpenSmall();
    ASSERT_TRUE(journal.SetList(Steps()));
    ASSERT_TRUE(journal.Checkpoint());
    for (std::uint8_t i = 1; i <= kListed; ++i) {
      ASSERT_TRUE(journal.RecordAttempt(Success(i), {}));
      ASSERT_TRUE(journal.Commit());
    }
    database = Bytes(folder_.journal());
    log = Bytes(folder_.journal().string() + "-wal");
  }
  std::mt19937 random(3);
  int shorter = 0;
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    std::string bad = log;
    const std::size_t at = random() % bad.size();
    bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
    SCOPED_TRACE("a bit of byte " + std::to_string(at));
    Put(database, bad);
    const auto done = CountDone();
    ASSERT_TRUE(done) << done.error().message;
    shorter += *done < kListed ? 1 : 0;
  }
  EXPECT_GT(shorter, 200);
}

// At whatever point the repair fails, a later one starts from the same damaged journal.
TEST_F(JournalDamageTest, RepairOnFullDiskChangesNothing) {
  constexpr std::uint8_t kDone = 4;
  WriteRecord(kDone);
  {
    Journal journal = OpenSmall();
    ASSERT_TRUE(journal.SetList(Steps()));
    ASSERT_TRUE(journal.Set("learned", "much"));
    ASSERT_TRUE(journal.Checkpoint());
  }
  std::string damaged = Bytes(folder_.journal());
  damaged.at(damaged.find(Label(3))) = 'x';
  Put(damaged, "");
  ASSERT_FALSE(CountDone());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t room : {rlim_t{0}, rlim_t{3000}, rlim_t{16'000}}) {
    SCOPED_TRACE(room);
    const rlimit little{.rlim_cur = room, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
    const auto rebuilt = RebuildJournal(folder_);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_FALSE(rebuilt);
    EXPECT_TRUE(Bytes(folder_.journal()) == damaged);
    EXPECT_FALSE(fs::exists(folder_.journal().string() + ".damaged-1"));
  }
  signal(SIGXFSZ, handler);
  auto rebuilt = RebuildJournal(folder_);
  ASSERT_TRUE(rebuilt) << rebuilt.error().message;
  EXPECT_EQ(rebuilt->imported.attempts, kDone);
  EXPECT_EQ(rebuilt->journal.Get("learned").value(), "much");
  EXPECT_TRUE(Bytes(folder_.journal().string() + ".damaged-1") == damaged);
  EXPECT_FALSE(fs::exists(folder_.journal().string() + ".new"));
}

// Running out of descriptors must not look like damage.
TEST_F(JournalDamageTest, AccessErrorIsNotDamage) {
  {
    Journal journal = OpenSmall();
    ASSERT_TRUE(journal.SetList(Steps()));
  }
  {
    const platform::NoDescriptors none;
    const auto journal = Journal::Open(folder_.journal());
    ASSERT_FALSE(journal);
    EXPECT_NE(journal.error().code, Error::Code::kIncompatible) << journal.error().message;
    EXPECT_FALSE(RebuildJournal(folder_));
  }
  EXPECT_EQ(CountDone(), 0);
}

enum class Damage { kFlippedBit, kRandomBytes, kZeroedPage, kMisplacedPage, kTruncated };

class DamagedFileTest : public JournalDamageTest, public testing::WithParamInterface<Damage> {
 protected:
  static std::string Damaged(std::string bytes, std::mt19937& random) {
    constexpr std::size_t kPage = 512;
    const std::size_t pages = bytes.size() / kPage;
    const std::size_t at = random() % bytes.size();
    const std::size_t page = random() % pages * kPage;
    switch (GetParam()) {
      case Damage::kFlippedBit:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        return bytes;
      case Damage::kRandomBytes:
        for (std::size_t i = at; i < std::min(at + 16, bytes.size()); ++i) {
          bytes[i] = static_cast<char>(random());
        }
        return bytes;
      case Damage::kZeroedPage:
        return bytes.replace(page, kPage, kPage, '\0');
      case Damage::kMisplacedPage:
        return bytes.replace(page, kPage, bytes.substr(random() % pages * kPage, kPage));
      case Damage::kTruncated:
        return bytes.substr(0, at);
    }
    return bytes;
  }
};

TEST_P(DamagedFileTest, IsRejectedAndRebuiltOrReadsAsWritten) {
  constexpr std::uint8_t kDone = 4;
  WriteRecord(kDone);
  std::string good;
  {
    Journal journal = OpenSmall();
    ASSERT_TRUE(journal.SetList(Steps()));
    for (std::uint8_t i = 1; i <= kDone; ++i) ASSERT_TRUE(journal.RecordAttempt(Success(i), {}));
    for (const char* key : {"learned", "anew"}) ASSERT_TRUE(journal.Set(key, key));
    ASSERT_TRUE(journal.Set("barrier", "4"));
    ASSERT_TRUE(journal.Checkpoint());
    good = Bytes(folder_.journal());
  }
  std::mt19937 random(11);
  int rejected = 0;
  int notes = 0;
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Put(Damaged(good, random), "");
    const auto done = CountDone();
    if (done) {
      // An empty file is a new journal.
      const bool empty = fs::file_size(folder_.journal()) == 0 || *done == 0;
      EXPECT_TRUE(*done == kDone || (GetParam() == Damage::kTruncated && empty)) << *done;
      continue;
    }
    ++rejected;
    EXPECT_EQ(done.error().code, Error::Code::kIncompatible) << done.error().message;
    auto rebuilt = RebuildJournal(folder_);
    ASSERT_TRUE(rebuilt) << rebuilt.error().message;
    Journal& journal = rebuilt->journal;
    ASSERT_TRUE(journal.SetList(Steps()));
    EXPECT_EQ(rebuilt->imported.attempts, kDone);
    // Recovered values are correct.
    for (const char* key : {"learned", "anew"}) {
      const auto note = journal.Get(key);
      ASSERT_TRUE(note) << note.error().message;
      EXPECT_EQ(note->value_or(key), key);
      notes += *note ? 1 : 0;
    }
    EXPECT_FALSE(*journal.Get("barrier"));
    EXPECT_EQ(std::ranges::count(*journal.List(), StepState::kDone, &StepEntry::state), kDone);
    fs::remove_all(root_ / "damaged");
  }
  EXPECT_GT(rejected, 20);
  EXPECT_GT(notes, rejected / 4) << "most rows survive the damage";
}

INSTANTIATE_TEST_SUITE_P(Damages, DamagedFileTest,
                         testing::Values(Damage::kFlippedBit, Damage::kRandomBytes,
                                         Damage::kZeroedPage, Damage::kMisplacedPage,
                                         Damage::kTruncated));

}  // namespace journal_damage_test
}  // namespace reveza::jobs
