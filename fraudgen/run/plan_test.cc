#include "fraudgen/run/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
  EXPECT_EQ(plan->shard().blocks(), 3u);
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
      for (uint64_t n = 0; n < plan->shard().blocks(); ++n) ++times[plan->shard().BlockAt(n)];
      rows += plan->rows();
      files += plan->files();
      max_blocks = std::max(max_blocks, plan->shard().blocks());
      min_blocks = std::min(min_blocks, plan->shard().blocks());
      EXPECT_EQ(plan->all_files(), 10u + 9 * 4 + 2);
    }
    EXPECT_EQ(times.size(), 10u) << count;
    EXPECT_TRUE(std::ranges::all_of(times, [](const auto& entry) { return entry.second == 1; }));
    EXPECT_EQ(rows, 9'500u);
    EXPECT_EQ(files, 10u + 9 * 4 + 2);
    EXPECT_LE(max_blocks - min_blocks, 1u);
  }
}

TEST(Plan, GroupsAreManyBeforeTheyAreLarge) {
  EXPECT_EQ(BlocksPerGroup(0), 1u);
  EXPECT_EQ(BlocksPerGroup(255), 1u);
  EXPECT_EQ(BlocksPerGroup(256), 2u);
  EXPECT_EQ(BlocksPerGroup(8'000), 32u);
  EXPECT_EQ(BlocksPerGroup(1'000'000), 32u);
}

TEST(Plan, FilesOfSmallTablesSpanGroups) {
  // 301 blocks: 150 groups of two and one of one.
  const TestingModel model(1, 3'010, 10);
  const auto plan = Plan::Make(model, Format::kCsv, 0, Shard{});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->all_files(), 151u + 301);
  EXPECT_EQ(plan->FilesIn(kTestingPeople), 151u);
  EXPECT_EQ(plan->shard().groups(), 151u);
  EXPECT_EQ(plan->shard().GroupAt(150), std::pair(uint64_t{300}, uint64_t{301}));
  const auto first = plan->FilesOf(20);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].name, "people/part-00010.csv");
  EXPECT_EQ(first[0].blocks, 2u);
  EXPECT_EQ(first[1].name, "payments/part-00020.csv");
  EXPECT_EQ(first[1].blocks, 1u);
  const auto second = plan->FilesOf(21);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].name, "payments/part-00021.csv");
  EXPECT_EQ(plan->FilesOf(300)[0].name, "people/part-00150.csv");
  EXPECT_EQ(plan->FilesOf(300)[0].blocks, 1u);
}

TEST(Plan, ShardsPartitionTheGroups) {
  const TestingModel model(1, 3'010, 10);
  for (const uint64_t count : {1, 2, 7, 151, 200}) {
    std::map<uint64_t, int> times;
    uint64_t files = 0;
    for (uint64_t index = 1; index <= count; ++index) {
      const auto plan = Plan::Make(model, Format::kCsv, 0, Shard{index, count});
      files += plan->files();
      std::vector<uint64_t> blocks;
      for (uint64_t n = 0; n < plan->shard().groups(); ++n) {
        const auto [first, end] = plan->shard().GroupAt(n);
        for (uint64_t block = first; block < end; ++block) blocks.push_back(block);
      }
      ASSERT_EQ(blocks.size(), plan->shard().blocks()) << index << "/" << count;
      for (uint64_t n = 0; n < plan->shard().blocks(); ++n) {
        EXPECT_EQ(plan->shard().BlockAt(n), blocks[n]);
        ++times[blocks[n]];
      }
    }
    EXPECT_EQ(files, 151u + 301) << count;
    EXPECT_EQ(times.size(), 301u) << count;
    EXPECT_TRUE(std::ranges::all_of(times, [](const auto& entry) { return entry.second == 1; }));
  }
}

TEST(Plan, IsEmptyWithoutRows) {
  const TestingModel model(1, 0, 1000);
  const auto plan = Plan::Make(model, Format::kCsv, 300, Shard{});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->all_files(), 0u);
  EXPECT_EQ(plan->shard().blocks(), 0u);
}

TEST(Plan, RejectsTooManyFiles) {
  const TestingModel model(1, 100'000'000, 50'000'000);
  const auto plan = Plan::Make(model, Format::kCsv, 1, Shard{});
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().message.find("file_rows"), std::string::npos);
}

}  // namespace plan_test
}  // namespace reveza::fraudgen
