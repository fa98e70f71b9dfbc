// Files of small tables that span blocks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "common/platform/testing_directory.h"
#include "fraudgen/run/runner.h"
#include "fraudgen/run/testing_model.h"
#include "fraudgen/run/testing_runs.h"

namespace reveza::fraudgen {
namespace groups_test {

using platform::TestingDirectory;

// Nine blocks, of which four each share their file of people.
const RunSpec kGrouped{.group_blocks = 4};

std::map<std::string, std::string> GroupedContents() {
  const TestingDirectory place;
  EXPECT_TRUE(RunIn(place / "data", kGrouped)->complete);
  return platform::ContentsOf(place / "data");
}

TEST(Groups, FilesThatSpanBlocksDoNotDependOnThreadsOrShards) {
  const auto whole = GroupedContents();
  EXPECT_EQ(whole.size(), 2 * (25u + 3) + 2);
  const auto manifest =
      ReadFileManifest(whole.at("_fraudgen/manifest-people.part-00001.csv.json"), "manifest");
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->block, 4u);
  EXPECT_EQ(manifest->rows_of_blocks, (std::vector<uint64_t>{8, 9, 7, 8}));
  const std::string& people = whole.at("people/part-00001.csv");
  EXPECT_LT(people.find("P47,"), people.find("P50,")) << "in order of the blocks";
  const TestingDirectory place;
  RunSpec spec = kGrouped;
  spec.threads = 3;
  ASSERT_TRUE(RunIn(place / "threads", spec)->complete);
  EXPECT_EQ(platform::ContentsOf(place / "threads"), whole);
  for (const uint64_t index : {2, 3, 1}) {
    spec.shard = {index, 3};
    ASSERT_TRUE(RunIn(place / "shards", spec));
  }
  EXPECT_EQ(platform::ContentsOf(place / "shards"), whole);
}

// Fails after a number of blocks.
class Interrupted final : public Model {
 public:
  explicit Interrupted(int blocks) : left_(blocks) {}
  std::span<const Table* const> tables() const override { return model_.tables(); }
  uint64_t blocks() const override { return model_.blocks(); }
  bool IsSmall(const Table& table) const override { return model_.IsSmall(table); }
  uint64_t RowsOf(const Table& table, uint64_t block) const override {
    return model_.RowsOf(table, block);
  }
  Status Make(uint64_t block, std::span<const Table* const> wanted,
              BatchSink& sink) const override {
    if (left_-- == 0) return Fail(Error::Code::kUnavailable, "interrupted");
    return model_.Make(block, wanted, sink);
  }

 private:
  TestingModel model_{1, kRows, kBlockRows};
  mutable std::atomic<int> left_;
};

TEST(Groups, ResumesWithinAGroup) {
  const auto whole = GroupedContents();
  const TestingDirectory place;
  int runs = 0;
  for (bool complete = false; !complete; ++runs) {
    ASSERT_LT(runs, 10);
    const Interrupted model(5);
    const auto result = RunIn(place / "data", kGrouped, &model);
    complete = result && result->complete;
    for (const auto& [name, content] : platform::ContentsOf(place / "data")) {
      EXPECT_EQ(content, whole.at(name)) << name;
    }
  }
  EXPECT_GT(runs, 1);
  EXPECT_EQ(platform::ContentsOf(place / "data"), whole);
}

TEST(Groups, RegeneratesTheMissingFilesOfAGroup) {
  const auto whole = GroupedContents();
  const TestingModel model(1, kRows, kBlockRows);
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data", kGrouped, &model)->complete);
  for (const auto& [table, file, blocks] :
       {std::tuple("people", "part-00001", 4), std::tuple("payments", "part-00015", 1)}) {
    const std::string name = fmt::format("{}/{}.csv", table, file);
    EXPECT_TRUE(std::filesystem::remove(place / "data" / name));
    EXPECT_TRUE(std::filesystem::remove(place / "data" / ManifestNameOf(name)));
    const int before = model.made;
    const auto result = RunIn(place / "data", kGrouped, &model);
    ASSERT_TRUE(result && result->complete);
    EXPECT_EQ(result->progress.files_made, 1u);
    EXPECT_EQ(model.made - before, blocks) << table;
    EXPECT_EQ(platform::ContentsOf(place / "data"), whole) << table;
  }
}

}  // namespace groups_test
}  // namespace reveza::fraudgen
