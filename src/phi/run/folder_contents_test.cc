#include "phi/run/folder_contents.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "phi/run/checkpoint.h"
#include "platform/testing_directory.h"

namespace reveza::phi {
namespace {

class FolderContents : public testing::Test {
 protected:
  void SetUp() override { settings_.folder = place_.path(); }
  void Write(const std::string& name) const {
    std::filesystem::create_directories((place_ / name).parent_path());
    std::ofstream(place_ / name) << "precious";
  }
  bool IsThere(const std::string& name) const { return std::filesystem::exists(place_ / name); }

  platform::TestingDirectory place_;
  RunSettings settings_;
};

TEST_F(FolderContents, WithoutACheckpointAreNotTouched) {
  EXPECT_TRUE(ClearFolder(settings_));
  for (const char* name : {"rows.csv", "rows.jsonl", "rows.parquet/part-000000.parquet",
                           "summary.json", "legacy-records.jsonl"}) {
    Write(name);
    const auto refused = ClearFolder(settings_);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, Error::Code::kIncompatible);
    EXPECT_NE(refused.error().message.find("--fresh"), std::string::npos);
    const std::string first = std::filesystem::path(name).begin()->string();
    EXPECT_NE(refused.error().message.find("/" + first + " "), std::string::npos)
        << refused.error().message;
    EXPECT_TRUE(IsThere(name));
    std::filesystem::remove_all(place_ / first);
  }
  Write("notes.txt");
  EXPECT_TRUE(ClearFolder(settings_));
}

TEST_F(FolderContents, OfEveryFormatGoWhereItBeginsAnew) {
  for (const char* name :
       {"rows.csv", "rows.jsonl", "rows.parquet/part-000000.parquet",
        "rows.parquet/part-000007.parquet", "rows.parquet/.part-000008.parquet.0.partial",
        "summary.json", "legacy-records.jsonl", "notes.txt"}) {
    Write(name);
  }
  settings_.fresh = true;
  const auto cleared = ClearFolder(settings_);
  ASSERT_TRUE(cleared) << cleared.error().message;
  EXPECT_FALSE(FindRows(settings_.folder).value());
  EXPECT_FALSE(IsThere("summary.json"));
  EXPECT_FALSE(IsThere("legacy-records.jsonl"));
  EXPECT_TRUE(IsThere("notes.txt"));
}

// What nobody can look at now may be all of a run.
TEST_F(FolderContents, ThatCannotBeSeenAreNotTakenForNone) {
  for (const char* name : {"rows.jsonl", "summary.json"}) {
    std::filesystem::create_symlink(name, place_ / name);
    const auto unseen = ClearFolder(settings_);
    ASSERT_FALSE(unseen) << name;
    EXPECT_EQ(unseen.error().code, Error::Code::kUnavailable) << unseen.error().message;
    std::filesystem::remove(place_ / name);
  }
}

TEST_F(FolderContents, OfOthersAmongThePartsStay) {
  Write("rows.parquet/part-000000.parquet");
  Write("rows.parquet/mine.parquet");
  settings_.fresh = true;
  ASSERT_TRUE(ClearFolder(settings_));
  EXPECT_FALSE(IsThere("rows.parquet/part-000000.parquet"));
  EXPECT_TRUE(IsThere("rows.parquet/mine.parquet"));
}

TEST_F(FolderContents, ThatCannotBeRemovedAreNamed) {
  Write("rows.csv/in-a-folder/of-somebody");
  settings_.fresh = true;
  const auto refused = ClearFolder(settings_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("rows.csv"), std::string::npos);
  EXPECT_TRUE(IsThere("rows.csv/in-a-folder/of-somebody"));
}

}  // namespace
}  // namespace reveza::phi
