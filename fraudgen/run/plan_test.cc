#include "fraudgen/run/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "fraudgen/run/testing_model.h"

namespace reveza::fraudgen {
namespace plan_test {

TEST(ParseShard, ParsesIndexAndCount) {
  const auto shard = ParseShard("3/8");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->index, 3u);
  EXPECT_EQ(shard->count, 8u);
  EXPECT_TRUE(ParseShard("1/1"));
}

TEST(ParseShard, RejectsInvalidShards) {
  for (const char* text : {"", "3", "/", "3/", "/8", "a/8", "3/8/9", "-1/8", "3/ 8", "0/8", "3/0",
                           "9/8", "1/1000001", "1/99999999999999999999"}) {
    EXPECT_FALSE(ParseShard(text)) << text;
  }
  EXPECT_NE(ParseShard("9/8").error().message.find("expected 1 to 8"), std::string::npos);
}

TEST(Plan, SplitsKnownTablesIntoNumberedFiles) {
  const TestingModel model(1, 2500, 1000);
  const auto plan = Plan::Make(model, Format::kJsonLines, 400, Shard{});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->all_blocks(), 3u);
  EXPECT_EQ(plan->blocks(), 3u);
  EXPECT_EQ(plan->all_files(), 3u + 3 + 3 + 2);
  EXPECT_EQ(plan->files(), plan->all_files());
  EXPECT_EQ(plan->rows(), 2500u);

  const auto files = plan->FilesOf(1);
  ASSERT_EQ(files.size(), 4u);
  EXPECT_EQ(files[0].name, "people/part-00001.jsonl");
  EXPECT_FALSE(files[0].rows) << "unknown in advance";
  EXPECT_EQ(files[1].name, "payments/part-00003.jsonl");
  EXPECT_EQ(files[1].rows, 400u);
  EXPECT_EQ(files[3].name, "payments/part-00005.jsonl");
  EXPECT_EQ(files[3].first_row, 800u);
  EXPECT_EQ(files[3].rows, 200u);
  const auto last = plan->FilesOf(2);
  ASSERT_EQ(last.size(), 3u);
  EXPECT_EQ(last[2].name, "payments/part-00007.jsonl");
  EXPECT_EQ(last[2].rows, 100u);
}

TEST(Plan, NamesTellTheCodecOfText) {
  const TestingModel model(1, 2500, 1000);
  const auto name = [&](Format format, Codec codec) {
    return Plan::Make(model, format, 0, Shard{}, {}, codec)->FilesOf(0).front().name;
  };
  EXPECT_EQ(name(Format::kCsv, Codec::kNone), "people/part-00000.csv");
  EXPECT_EQ(name(Format::kCsv, Codec::kGzip), "people/part-00000.csv.gz");
  EXPECT_EQ(name(Format::kJsonLines, Codec::kZstd), "people/part-00000.jsonl.zst");
  EXPECT_EQ(name(Format::kTsv, Codec::kLz4), "people/part-00000.tsv.lz4");
}

TEST(Plan, HasOneFilePerBlockForColumnarFormats) {
  const TestingModel model(1, 2500, 1000);
  const auto plan = Plan::Make(model, Format::kParquet, DefaultFileRows(Format::kParquet), Shard{});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->all_files(), 6u);
  EXPECT_EQ(plan->FilesOf(2)[1].name, "payments/part-00002.parquet");
  EXPECT_EQ(plan->FilesOf(2)[1].rows, 500u);
}

TEST(Plan, ShardsPartitionTheBlocks) {
  const TestingModel model(1, 9'500, 1000);
  for (uint64_t count = 1; count <= 12; ++count) {
    std::map<uint64_t, int> times;
    uint64_t rows = 0;
    uint64_t files = 0;
    uint64_t max_blocks = 0;
    uint64_t min_blocks = UINT64_MAX;
    for (uint64_t index = 1; index <= count; ++index) {
      const auto plan = Plan::Make(model, Format::kCsv, 300, Shard{index, count});
      ASSERT_TRUE(plan);
      for (uint64_t n = 0; n < plan->blocks(); ++n) ++times[plan->BlockAt(n)];
      rows += plan->rows();
      files += plan->files();
      max_blocks = std::max(max_blocks, plan->blocks());
      min_blocks = std::min(min_blocks, plan->blocks());
      EXPECT_EQ(plan->all_files(), 10u + 9 * 4 + 2);
    }
    EXPECT_EQ(times.size(), 10u) << count;
    EXPECT_TRUE(std::ranges::all_of(times, [](const auto& entry) { return entry.second == 1; }));
    EXPECT_EQ(rows, 9'500u);
    EXPECT_EQ(files, 10u + 9 * 4 + 2);
    EXPECT_LE(max_blocks - min_blocks, 1u);
  }
}

TEST(Plan, IsEmptyWithoutRows) {
  const TestingModel model(1, 0, 1000);
  const auto plan = Plan::Make(model, Format::kCsv, 300, Shard{});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->all_files(), 0u);
  EXPECT_EQ(plan->blocks(), 0u);
}

TEST(Plan, RejectsTooManyFiles) {
  const TestingModel model(1, 100'000'000, 50'000'000);
  const auto plan = Plan::Make(model, Format::kCsv, 1, Shard{});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("file_rows"), std::string::npos);
}

}  // namespace plan_test
}  // namespace reveza::fraudgen
