#include "fraudgen/run/partition.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "common/platform/testing_directory.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/run/block_files.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/runner.h"
#include "fraudgen/run/testing_model.h"
#include "fraudgen/values/civil_time.h"

namespace reveza::fraudgen {
namespace partition_test {

using platform::TestingDirectory;

using Names = std::vector<std::string>;

std::string ErrorOf(std::string_view text) {
  const auto parsed = ParsePartition(text);
  return parsed ? "none" : parsed.error().message;
}

TEST(ParsePartition, ParsesAndValidatesKeys) {
  EXPECT_EQ(*ParsePartition(""), Names());
  EXPECT_EQ(*ParsePartition("year,month,day"), (Names{"year", "month", "day"}));
  EXPECT_EQ(*ParsePartition("year,type,is_fraud"), (Names{"year", "type", "is_fraud"}));
  EXPECT_EQ(*ParsePartition("address_state"), Names{"address_state"});
  EXPECT_TRUE(ErrorOf("yeer").starts_with("unknown column 'yeer'; did you mean 'year'?"));
  EXPECT_TRUE(ErrorOf("year,").starts_with("unknown column ''"));
  EXPECT_TRUE(ErrorOf("amount").starts_with("amount has too many values"));
  EXPECT_EQ(ErrorOf("year,year"), "year is listed twice");
  EXPECT_EQ(ErrorOf("type,year"), "year, month and day must come before other keys");
  EXPECT_EQ(ErrorOf("year,month,day,type,is_fraud"), "5 keys are too many; the maximum is 4");
}

TEST(EscapePartition, RoundTrips) {
  EXPECT_EQ(EscapePartition("SP_1-a.b"), "SP_1-a.b");
  EXPECT_EQ(EscapePartition("a/b=c d"), "a%2Fb%3Dc%20d");
  for (const char* value : {"São Paulo", "100%", "%2F", "a/b", ""}) {
    EXPECT_EQ(UnescapePartition(EscapePartition(value)), value);
  }
  EXPECT_EQ(UnescapePartition("%zz%2"), "%zz%2");
}

PartitionKeys Keys(Names names, CivilDate first = {1970, 1, 1}, CivilDate last = {1970, 1, 1}) {
  return {.names = std::move(names), .first_day = DaysOf(first), .last_day = DaysOf(last)};
}

TEST(TablePartition, HasFolderPerValueAndDropsKeyColumns) {
  const auto made = TablePartition::Make(kTestingPayments, Keys({"kind", "is_fraud"}));
  ASSERT_TRUE(made && *made);
  const TablePartition& partition = **made;
  EXPECT_EQ(partition.folders(), 9u);
  EXPECT_EQ(partition.NameOf(0), "payments/kind=PIX/is_fraud=false");
  EXPECT_EQ(partition.NameOf(5), "payments/kind=TED/is_fraud=__HIVE_DEFAULT_PARTITION__");
  ASSERT_EQ(partition.stored().columns.size(), 3u);
  EXPECT_EQ(partition.stored().columns[2].name, "amount");
}

TEST(TablePartition, HasFolderPerMonth) {
  const auto made = TablePartition::Make(
      kTestingPayments, Keys({"year", "month", "kind"}, {2024, 11, 30}, {2025, 2, 1}));
  ASSERT_TRUE(made && *made);
  const TablePartition& partition = **made;
  EXPECT_EQ(partition.folders(), 4u * 3);
  EXPECT_EQ(partition.NameOf(0), "payments/year=2024/month=11/kind=PIX");
  EXPECT_EQ(partition.NameOf(11), "payments/year=2025/month=02/kind=DOC");
  EXPECT_EQ(partition.SpanOf(2), 0u);
  EXPECT_EQ(partition.SpanOf(3), 1u);
  EXPECT_EQ(partition.stored().columns.size(), 4u) << "timestamp is kept";

  Batch batch(kTestingPayments);
  batch.Begin(2);
  for (std::size_t row = 0; row < 2; ++row) {
    batch.column(1).numbers[row] =
        DaysOf({.year = 2025, .month = 1, .day = row == 0 ? 1 : 31}) * kMicrosecondsPerDay +
        static_cast<int64_t>(row) * (kMicrosecondsPerDay - 1);
    batch.column(3).codes[row] = static_cast<uint16_t>(row + 1);
  }
  std::vector<uint32_t> folders;
  ASSERT_TRUE(partition.FoldersOf(batch, folders));
  EXPECT_EQ(folders, (std::vector<uint32_t>{7, 8}));
  batch.column(1).numbers[1] = DaysOf({.year = 2025, .month = 2, .day = 2}) * kMicrosecondsPerDay;
  EXPECT_FALSE(partition.FoldersOf(batch, folders)) << "after the last day";
}

TEST(CheckPeriod, RejectsFoldersThatOccurTwice) {
  const Status status = CheckPeriod(Keys({"month"}, {2024, 12, 31}, {2025, 12, 31}));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Error::Code::kInvalidArgument);
  EXPECT_TRUE(status.error().message.contains("month=12")) << status.error().message;
  EXPECT_TRUE(CheckPeriod(Keys({"month"}, {2024, 12, 31}, {2025, 11, 30})));
  EXPECT_TRUE(CheckPeriod(Keys({"year", "month"}, {2024, 12, 31}, {2025, 12, 31})));
  EXPECT_TRUE(CheckPeriod(Keys({"kind"}, {2024, 12, 31}, {2025, 12, 31})));
  EXPECT_TRUE(CheckPeriod({}));
}

TEST(TablePartition, RejectsTooManyFolders) {
  const auto refusal = [](const PartitionKeys& keys, const Table& table = kTestingPayments) {
    const auto made = TablePartition::Make(table, keys);
    return made ? "none" : made.error().message;
  };
  EXPECT_TRUE(refusal(Keys({"year", "month", "day"}, {1990, 1, 1}, {2025, 12, 31}))
                  .ends_with("the maximum is 10000; remove a key or shorten the period"));
  EXPECT_TRUE(
      refusal(Keys({"profession"}), kCustomers).ends_with("the maximum is 64; remove a key"));
  EXPECT_FALSE(*TablePartition::Make(kTestingPeople, Keys({"kind"}))) << "no such column";
}

// Writes batches of rows on these days, partitioned by day. Returns the rows of each file.
Result<std::map<std::string, uint64_t>> Write(const std::vector<std::vector<int64_t>>& batches,
                                              int64_t days, uint64_t max_late = 0) {
  const PartitionKeys keys{.names = {"year", "month", "day"}, .first_day = 0, .last_day = days - 1};
  const auto partition = *TablePartition::Make(kTestingPayments, keys);
  std::vector<BlockFile> files;
  for (std::size_t folder = 0; folder < partition->folders(); ++folder) {
    files.push_back({.planned = {.table = &kTestingPayments,
                                 .part = folder,
                                 .name = partition->NameOf(folder),
                                 .partition = partition,
                                 .max_late = max_late}});
  }
  std::map<std::string, uint64_t> rows;
  BlockFiles::Calls calls;
  calls.create = [](const PlannedFile&) -> Result<std::unique_ptr<ByteSink>> {
    return std::make_unique<NullSink>();
  };
  calls.finish = [&](const WrittenFile& file) -> Status {
    EXPECT_TRUE(rows.emplace(file.planned.name, file.rows).second);
    return {};
  };
  calls.progress = [](uint64_t, uint64_t) -> Status { return {}; };
  BlockFiles block({.format = Format::kCsv}, std::move(files), std::move(calls));
  Batch batch(kTestingPayments);
  for (const auto& times : batches) {
    batch.Begin(times.size());
    for (std::size_t row = 0; row < times.size(); ++row) {
      batch.column(0).AppendText("x");
      batch.column(1).numbers[row] = times[row] * kMicrosecondsPerDay;
      batch.column(3).codes[row] = 0;
    }
    if (auto put = block.Put(batch); !put) return std::unexpected(put.error());
  }
  if (auto ended = block.End(); !ended) return std::unexpected(ended.error());
  return rows;
}

TEST(BlockFiles, OrderedRowsNeedFewOpenFiles) {
  std::vector<std::vector<int64_t>> batches;
  for (int64_t day = 0; day < 200; ++day) batches.push_back({day, day, day + 1});
  const auto rows = Write(batches, 202);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->size(), 202u) << "including one without rows";
  EXPECT_EQ(rows->at("payments/year=1970/month=01/day=01"), 2u);
  EXPECT_EQ(rows->at("payments/year=1970/month=01/day=02"), 3u);
  EXPECT_EQ(rows->at("payments/year=1970/month=07/day=21"), 0u);
}

TEST(BlockFiles, LateRowsKeepFoldersOpen) {
  const auto rows = Write({{0, 0, 2}, {1, 3}, {0, 4}, {4, 4}, {2, 4}}, 5, 6);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->at("payments/year=1970/month=01/day=01"), 3u);
  EXPECT_EQ(rows->at("payments/year=1970/month=01/day=03"), 2u);
  const auto refused = Write({{0, 0, 2}, {1, 3}, {1, 4}, {4, 4}, {0, 4}}, 5, 6);
  ASSERT_FALSE(refused) << "later than MaxLateRows()";
  EXPECT_EQ(refused.error().code, Error::Code::kInternal);
  std::vector<std::vector<int64_t>> days;
  for (int64_t day = 0; day < 600; ++day) days.push_back({day});
  EXPECT_TRUE(Write(days, 600, 500));
  const auto many = Write(days, 600, 5'000);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message,
            "partition: payments would need more than 512 open folders, because its rows are "
            "displaced by --defects late; remove a key or that defect");
}

TEST(BlockFiles, UnorderedRowsAreLimitedToFewFolders) {
  const auto rows = Write({{5, 0, 3}, {0, 5}}, 6);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->at("payments/year=1970/month=01/day=01"), 2u);
  std::vector<int64_t> many;
  for (int64_t day = 100; day > 0; --day) many.push_back(day);
  const auto refused = Write({many}, 101);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Error::Code::kInvalidArgument);
  EXPECT_FALSE(Write({{0, 1, 2}, {1}}, 3)) << "unordered after an ordered first batch";
}

Result<RunResult> RunIn(const std::filesystem::path& path, int threads, Shard shard) {
  const TestingModel model(1, 9'000, 2'000);
  const auto plan = Plan::Make(model, Format::kCsv, 500, shard, Keys({"kind", "is_fraud"}));
  RunOptions options;
  options.table = {.format = Format::kCsv};
  options.configuration = "partition = \"kind,is_fraud\"\n";
  options.made_by.configuration = HashOf(options.configuration);
  options.made_by.SetOptions(options.table);
  options.threads = threads;
  Folder folder(path);
  if (auto ready = folder.Prepare(); !ready) return std::unexpected(ready.error());
  return Run(model, *plan, options, folder, [](const Progress&) { return true; });
}

TEST(Partition, FilesDoNotDependOnThreadsShardsOrResumes) {
  const TestingDirectory place;
  const auto whole = RunIn(place / "whole", 1, {});
  ASSERT_TRUE(whole && whole->complete);
  EXPECT_EQ(whole->progress.rows, 9'000u);
  EXPECT_EQ(whole->tables.at("payments").rows, 9'000u);
  EXPECT_EQ(whole->tables.at("payments").files, 5u * 9);
  const auto contents = platform::ContentsOf(place / "whole");
  const std::string name = "payments/kind=TED/is_fraud=true/part-00003.csv";
  ASSERT_TRUE(contents.contains(name));
  EXPECT_TRUE(contents.at(name).starts_with("payment_id,timestamp,amount\n")) << contents.at(name);
  EXPECT_TRUE(
      contents.contains("_fraudgen/manifest-payments.kind=TED.is_fraud=true.part-00003.csv.json"));

  ASSERT_TRUE(RunIn(place / "threads", 3, {}));
  EXPECT_EQ(platform::ContentsOf(place / "threads"), contents);
  for (uint64_t shard = 1; shard <= 3; ++shard) {
    ASSERT_TRUE(RunIn(place / "shards", 1, {shard, 3}));
  }
  EXPECT_EQ(platform::ContentsOf(place / "shards"), contents);

  std::filesystem::remove(place / "whole" / name);
  std::filesystem::remove(place / "whole" / "_fraudgen/manifest.json");
  const auto resumed = RunIn(place / "whole", 2, {});
  ASSERT_TRUE(resumed && resumed->complete);
  EXPECT_EQ(resumed->progress.files_made, 1u);
  EXPECT_EQ(resumed->progress.rows, 9'000u);
  EXPECT_EQ(platform::ContentsOf(place / "whole"), contents);
}

TEST(Partition, NeedsATableWithAllKeys) {
  const TestingModel model(1, 9'000, 2'000);
  EXPECT_FALSE(Plan::Make(model, Format::kCsv, 0, {}, Keys({"address_state"}))->IsPartitioned());
  EXPECT_FALSE(Plan::Make(model, Format::kCsv, 0, {}, {})->IsPartitioned());
  EXPECT_TRUE(Plan::Make(model, Format::kCsv, 0, {}, Keys({"kind"}))->IsPartitioned());
}

}  // namespace partition_test
}  // namespace reveza::fraudgen
