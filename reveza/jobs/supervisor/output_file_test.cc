#include "reveza/jobs/supervisor/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "common/platform/testing_directory.h"

namespace reveza::jobs {
namespace output_file_test {

class OutputFileTest : public ::testing::TestWithParam<bool> {
 protected:
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Text(const std::string& name) const {
    std::ifstream file(Path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(Path(name)); }
  void Print(std::string_view text) {
    ASSERT_EQ(write(file_.descriptor(), text.data(), text.size()), std::ssize(text));
  }
  ino_t Inode() const {
    struct stat info{};
    fstat(file_.descriptor(), &info);
    return info.st_ino;
  }

  platform::TestingDirectory folder_;
  OutputFile file_{GetParam()};
};

TEST_P(OutputFileTest, IsThereWhenSomethingIsInIt) {
  ASSERT_TRUE(file_.Open(Path("1")));
  Print("a");
  EXPECT_TRUE(file_.Publish());
  EXPECT_TRUE(file_.is_named());
  EXPECT_EQ(Text("1"), "a");
  Print("b");
  file_.Close();
  ASSERT_TRUE(file_.Open(Path("2")));
  Print("c");
  EXPECT_EQ(file_.Size(), 1u);
  EXPECT_TRUE(file_.Publish());
  file_.Close();
  EXPECT_EQ(Text("1"), "ab");
  EXPECT_EQ(Text("2"), "c");
}

TEST_P(OutputFileTest, LeavesNothingForAStepThatPrintsNothing) {
  for (const char* name : {"1", "2", "3"}) {
    ASSERT_TRUE(file_.Open(Path(name)));
    EXPECT_TRUE(file_.Publish());
    EXPECT_EQ(file_.Size(), 0u);
    file_.Close();
    EXPECT_FALSE(Exists(name));
  }
  ASSERT_TRUE(file_.Open(Path("4")));
  Print("d");
  EXPECT_TRUE(file_.Publish());
  ASSERT_EQ(ftruncate(file_.descriptor(), 0), 0);
  file_.Close();
  EXPECT_FALSE(Exists("4"));
}

TEST_P(OutputFileTest, ReplacesWhatAnEarlierAttemptLeft) {
  folder_.Write("1", "old");
  ASSERT_TRUE(file_.Open(Path("1")));
  Print("new");
  EXPECT_TRUE(file_.Publish());
  file_.Close();
  EXPECT_EQ(Text("1"), "new");
}

TEST_P(OutputFileTest, SizeIsReadOnceItIsFixed) {
  ASSERT_TRUE(file_.Open(Path("1"), /*is_new=*/true));
  Print("abc");
  file_.FixSize();
  Print("d");
  EXPECT_EQ(file_.Size(), 3u);
  file_.Close();
  ASSERT_TRUE(file_.Open(Path("2"), /*is_new=*/true));
  EXPECT_EQ(file_.Size(), 0u) << "of another file";
}

TEST_P(OutputFileTest, NeverReplacesAFileThatIsNotRegular) {
  std::filesystem::create_symlink("/dev/null", folder_ / "device");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(file_.Open(Path("device")));
    Print("gone");
    EXPECT_TRUE(file_.Publish());
    file_.Close();
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "device"));
  }
  ASSERT_TRUE(file_.Open(Path("1")));
  Print("kept");
  EXPECT_TRUE(file_.Publish());
  file_.Close();
  EXPECT_EQ(Text("1"), "kept");
}

TEST_P(OutputFileTest, NeedsItsFolder) {
  EXPECT_FALSE(file_.Open(Path("absent/1")));
  EXPECT_EQ(errno, ENOENT);
  ASSERT_TRUE(file_.Open(Path("1")));
}

INSTANTIATE_TEST_SUITE_P(Names, OutputFileTest, ::testing::Values(true, false),
                         [](const auto& one) { return one.param ? "Late" : "AtOnce"; });

using UnnamedOutputTest = OutputFileTest;

TEST_P(UnnamedOutputTest, EmptyFilesAreReusedWithADescriptionOfTheirOwn) {
  ASSERT_TRUE(file_.Open(Path("1")));
  const ino_t first = Inode();
  ASSERT_EQ(fcntl(file_.descriptor(), F_SETFL, 0), 0);
  file_.Close();
  ASSERT_TRUE(file_.Open(Path("2")));
  EXPECT_EQ(Inode(), first);
  EXPECT_NE(fcntl(file_.descriptor(), F_GETFL) & O_APPEND, 0);
  EXPECT_FALSE(file_.is_named());
}

TEST_P(UnnamedOutputTest, CannotBeNamedInAFolderThatIsGone) {
  std::filesystem::create_directory(folder_ / "inside");
  ASSERT_TRUE(file_.Open(Path("inside/1")));
  Print("lost");
  std::filesystem::remove(folder_ / "inside");
  EXPECT_FALSE(file_.Publish());
  EXPECT_EQ(errno, ENOENT);
}

INSTANTIATE_TEST_SUITE_P(Names, UnnamedOutputTest, ::testing::Values(true),
                         [](const auto&) { return "Late"; });

}  // namespace output_file_test
}  // namespace reveza::jobs
