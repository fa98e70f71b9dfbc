#include "reveza/jobs/supervisor/record.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/platform/testing_descriptors.h"
#include "common/platform/testing_directory.h"

namespace reveza::jobs {
namespace record_test {

AttemptName Name(std::uint8_t first, std::uint32_t attempt = 1) {
  AttemptName name;
  name.identity[0] = first;
  name.attempt = attempt;
  return name;
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class RecordTest : public testing::Test {
 protected:
  platform::TestingDirectory folder_;
  std::string path_ = (folder_.path() / "one.record").string();
};

TEST_F(RecordTest, RoundTripsEntries) {
  {
    auto writer = RecordWriter::Create(path_);
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE(writer->Append(AttemptStarted{Name(7), 11, "seed=7", "o", "e"}));
    ASSERT_TRUE(writer->Append(CycleResult{Name(7), 3, 12, "phi=0.5"}));
    AttemptResult result;
    result.name = Name(7);
    result.outcome = Outcome::kSignal;
    result.code = 9;
    result.output_bytes = 1234;
    ASSERT_TRUE(writer->Append(result));
  }
  const auto record = ReadRecord(path_);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->boot, ReadBootId());
  EXPECT_EQ(record->trailing_bytes, 0u);
  ASSERT_EQ(record->entries.size(), 3u);
  EXPECT_EQ(std::get<AttemptStarted>(record->entries[0]).label, "seed=7");
  EXPECT_EQ(std::get<CycleResult>(record->entries[1]).metrics, "phi=0.5");
  const auto& result = std::get<AttemptResult>(record->entries[2]);
  EXPECT_EQ(result.name, Name(7));
  EXPECT_EQ(result.outcome, Outcome::kSignal);
  EXPECT_EQ(result.code, 9);
  EXPECT_EQ(result.output_bytes, 1234u);
}

TEST_F(RecordTest, TruncatedFileKeepsCompleteEntries) {
  std::vector<std::size_t> ends;
  {
    auto writer = RecordWriter::Create(path_);
    ASSERT_TRUE(writer);
    for (std::uint8_t i = 1; i <= 3; ++i) {
      AttemptResult result;
      result.name = Name(i);
      ASSERT_TRUE(writer->Append(result));
      ends.push_back(std::filesystem::file_size(path_));
    }
  }
  const std::string bytes = ReadFile(path_);
  for (std::size_t size = 24; size <= bytes.size(); ++size) {
    const auto record = ParseRecord(std::string_view(bytes).substr(0, size));
    ASSERT_TRUE(record);
    const auto whole = std::ranges::count_if(ends, [size](std::size_t end) { return end <= size; });
    EXPECT_EQ(record->entries.size(), static_cast<std::size_t>(whole)) << size;
  }
}

TEST_F(RecordTest, DamagedEntryHidesOnlyLaterOnes) {
  {
    auto writer = RecordWriter::Create(path_);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->Append(AttemptStarted{Name(1), 1, "a", "o", "e"}));
    ASSERT_TRUE(writer->Append(AttemptStarted{Name(2), 2, "b", "o", "e"}));
  }
  const std::string bytes = ReadFile(path_);
  const std::size_t first = 24 + (bytes.size() - 24) / 2;
  for (std::size_t at = first; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    const auto record = ParseRecord(damaged);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->entries.size(), 1u) << at;
    EXPECT_GT(record->trailing_bytes, 0u);
  }
}

TEST_F(RecordTest, RejectsOtherFiles) {
  for (const char* text : {"", "RVZREC0", "something else that is long enough for a header"}) {
    const auto record = ParseRecord(text);
    ASSERT_FALSE(record);
    EXPECT_EQ(record.error().code, Error::Code::kIncompatible);
  }
}

TEST_F(RecordTest, NeverOverwritesAFile) {
  ASSERT_TRUE(RecordWriter::Create(path_));
  EXPECT_FALSE(RecordWriter::Create(path_));
}

TEST_F(RecordTest, LockIsHeldByChildren) {
  pid_t child = 0;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    auto writer = RecordWriter::Create(path_);
    ASSERT_TRUE(writer);
    child = fork();
    if (child == 0) {
      close(ends[1]);
      char byte = 0;
      _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
  }
  EXPECT_EQ(IsHeld(path_), true);
  close(ends[1]);
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  EXPECT_EQ(IsHeld(path_), false);
}

TEST_F(RecordTest, IsHeldFailsWithoutDescriptors) {
  auto writer = RecordWriter::Create(path_);
  ASSERT_TRUE(writer);
  {
    const platform::NoDescriptors none;
    const auto held = IsHeld(path_);
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().code, Error::Code::kExhausted);
    EXPECT_NE(held.error().message.find(path_), std::string::npos) << held.error().message;
  }
  EXPECT_EQ(IsHeld(path_), true);
  EXPECT_EQ(IsHeld(path_ + "-missing"), false);
}

TEST(BootIdTest, ParsesHexadecimal) {
  EXPECT_EQ(ReadBootId(), ReadBootId());
  platform::TestingDirectory folder;
  const auto path = folder.path() / "boot_id";
  std::ofstream(path) << "01020304-0506-0708-090a-0b0c0d0e0fff\n";
  const BootId boot = ReadBootId(path.c_str());
  EXPECT_EQ(boot[0], 1);
  EXPECT_EQ(boot[15], 255);
  EXPECT_EQ(ReadBootId("/nowhere"), BootId{});
}

}  // namespace record_test
}  // namespace reveza::jobs
