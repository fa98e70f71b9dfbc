#include "common/platform/output_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "common/platform/testing_directory.h"

namespace reveza::platform {
namespace output_file_test {

std::set<std::string> Names(const TestingDirectory& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.insert(entry.path().filename());
  }
  return names;
}

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OutputFile, AppearsOnlyWhenFinished) {
  const TestingDirectory folder;
  {
    auto file = OutputFile::Create(folder / "rows.csv");
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->Append("a,b\n"));
    ASSERT_TRUE(file->Append("1,2\n"));
    EXPECT_EQ(Names(folder), std::set<std::string>{".rows.csv.0.partial"});
    OutputFile moved = *std::move(file);
    ASSERT_TRUE(moved.Finish());
    EXPECT_EQ(Names(folder), std::set<std::string>{"rows.csv"});
  }
  EXPECT_EQ(Names(folder), std::set<std::string>{"rows.csv"});
  EXPECT_EQ(Read(folder / "rows.csv"), "a,b\n1,2\n");
}

TEST(OutputFile, LeavesNothingIfNotFinished) {
  const TestingDirectory folder;
  folder.Write("rows.csv", "old");
  {
    auto file = OutputFile::Create(folder / "rows.csv");
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Append("new"));
  }
  EXPECT_EQ(Names(folder), std::set<std::string>{"rows.csv"});
  EXPECT_EQ(Read(folder / "rows.csv"), "old");
}

TEST(OutputFile, ReplacesAnExistingFile) {
  const TestingDirectory folder;
  folder.Write("rows.csv", "old and longer");
  auto file = OutputFile::Create(folder / "rows.csv");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Append("new"));
  ASSERT_TRUE(file->Finish());
  EXPECT_EQ(Read(folder / "rows.csv"), "new");
}

TEST(OutputFile, ConcurrentWritersDoNotCollide) {
  const TestingDirectory folder;
  auto one = OutputFile::Create(folder / "rows.csv");
  auto two = OutputFile::Create(folder / "rows.csv");
  ASSERT_TRUE(one);
  ASSERT_TRUE(two);
  ASSERT_TRUE(one->Append("one"));
  ASSERT_TRUE(two->Append("two"));
  ASSERT_TRUE(one->Finish());
  EXPECT_EQ(Read(folder / "rows.csv"), "one");
  ASSERT_TRUE(two->Finish());
  EXPECT_EQ(Read(folder / "rows.csv"), "two");
  EXPECT_EQ(Names(folder), std::set<std::string>{"rows.csv"});
}

// A killed writer leaves its file behind; that of a live writer must stay.
TEST(OutputFile, RemovesOnlyFilesOfDeadWriters) {
  const TestingDirectory folder;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto file = OutputFile::Create(folder / "rows.csv");
    _exit(file && file->Append("some") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  auto living = OutputFile::Create(folder / "rows.csv");
  ASSERT_TRUE(living);
  ASSERT_EQ(Names(folder), (std::set<std::string>{".rows.csv.0.partial", ".rows.csv.1.partial"}));
  folder.Write(".other.csv.0.partial", "of another file");
  EXPECT_EQ(RemoveAbandoned(folder / "rows.csv"), 1);
  EXPECT_EQ(RemoveAbandoned(folder / "rows.csv"), 0);
  ASSERT_TRUE(living->Append("all"));
  ASSERT_TRUE(living->Finish());
  EXPECT_EQ(Names(folder), (std::set<std::string>{".other.csv.0.partial", "rows.csv"}));
  EXPECT_EQ(Read(folder / "rows.csv"), "all");
}

TEST(OutputFile, ReportsAMissingFolder) {
  const TestingDirectory folder;
  const auto file = OutputFile::Create(folder / "none" / "rows.csv");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Error::Code::kNotFound);
  EXPECT_NE(file.error().message.find("none/rows.csv"), std::string::npos) << file.error().message;
}

TEST(OutputFile, DoesNotReplaceAFolder) {
  const TestingDirectory folder;
  folder.Write("rows.csv/inside", "kept");
  {
    auto file = OutputFile::Create(folder / "rows.csv");
    ASSERT_TRUE(file);
    const auto finished = file->Finish();
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().code, Error::Code::kInvalidArgument);
  }
  EXPECT_EQ(Names(folder), std::set<std::string>{"rows.csv"});
  EXPECT_EQ(Read(folder / "rows.csv" / "inside"), "kept");
}

// RLIMIT_FSIZE fails like a full disk, after a partial write.
TEST(OutputFile, LeavesNothingOnAFullDisk) {
  const TestingDirectory folder;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  {
    auto file = OutputFile::Create(folder / "rows.csv");
    ASSERT_TRUE(file);
    const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto written = file->Append(std::string(5000, 'x'));
    setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Error::Code::kExhausted);
    EXPECT_NE(written.error().message.find("make room"), std::string::npos);
  }
  std::signal(SIGXFSZ, signal_before);
  EXPECT_TRUE(Names(folder).empty());
}

}  // namespace output_file_test
}  // namespace reveza::platform
