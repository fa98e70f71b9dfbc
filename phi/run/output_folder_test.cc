#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "common/platform/testing_directory.h"
#include "phi/run/checkpoint.h"
#include "phi/run/outcome.h"

namespace reveza::phi {
namespace output_folder_test {

class FolderContents : public testing::Test {
 protected:
  void SetUp() override { settings_.folder = place_.path(); }
  void Write(const std::string& name) const {
    std::filesystem::create_directories((place_ / name).parent_path());
    std::ofstream(place_ / name) << "precious";
  }
  bool FileExists(const std::string& name) const { return std::filesystem::exists(place_ / name); }

  platform::TestingDirectory place_;
  RunSettings settings_;
};

TEST_F(FolderContents, WithoutCheckpointAreKept) {
  EXPECT_TRUE(PrepareFolder(settings_));
  for (const char* name : {"rows.csv", "rows.parquet/part-000000.parquet", "summary.json"}) {
    Write(name);
    const auto refused = PrepareFolder(settings_);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, Error::Code::kIncompatible);
    EXPECT_NE(refused.error().message.find("--fresh"), std::string::npos);
    const std::string first = std::filesystem::path(name).begin()->string();
    EXPECT_NE(refused.error().message.find("/" + first + " "), std::string::npos)
        << refused.error().message;
    EXPECT_TRUE(FileExists(name));
    std::filesystem::remove_all(place_ / first);
  }
  Write("notes.txt");
  EXPECT_TRUE(PrepareFolder(settings_));
}

TEST_F(FolderContents, OfEveryFormatAreRemovedByFresh) {
  for (const char* name :
       {"rows.csv", "rows.parquet/part-000000.parquet", "rows.parquet/part-000007.parquet",
        "rows.parquet/.part-000008.parquet.0.partial", "summary.json", "notes.txt"}) {
    Write(name);
  }
  settings_.fresh = true;
  const auto cleared = PrepareFolder(settings_);
  ASSERT_TRUE(cleared) << cleared.error().message;
  EXPECT_FALSE(FindRows(settings_.folder).value());
  EXPECT_FALSE(FileExists("summary.json"));
  EXPECT_TRUE(FileExists("notes.txt"));
}

// Files that cannot be examined may be results of a run.
TEST_F(FolderContents, UnreadableIsNotMissing) {
  for (const char* name : {"rows.csv", "summary.json"}) {
    std::filesystem::create_symlink(name, place_ / name);
    const auto unseen = PrepareFolder(settings_);
    ASSERT_FALSE(unseen) << name;
    EXPECT_EQ(unseen.error().code, Error::Code::kUnavailable) << unseen.error().message;
    std::filesystem::remove(place_ / name);
  }
}

TEST_F(FolderContents, ForeignFilesAmongPartsAreKept) {
  Write("rows.parquet/part-000000.parquet");
  Write("rows.parquet/mine.parquet");
  settings_.fresh = true;
  ASSERT_TRUE(PrepareFolder(settings_));
  EXPECT_FALSE(FileExists("rows.parquet/part-000000.parquet"));
  EXPECT_TRUE(FileExists("rows.parquet/mine.parquet"));
}

TEST_F(FolderContents, UnremovableAreReported) {
  Write("rows.csv/in-a-folder/of-somebody");
  settings_.fresh = true;
  const auto refused = PrepareFolder(settings_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("rows.csv"), std::string::npos);
  EXPECT_TRUE(FileExists("rows.csv/in-a-folder/of-somebody"));
}

}  // namespace output_folder_test
}  // namespace reveza::phi
