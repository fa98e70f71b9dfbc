#include "fraudgen/run/runner.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "common/platform/testing_directory.h"
#include "common/table/arrow.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/testing_model.h"
#include "fraudgen/run/testing_runs.h"

namespace reveza::fraudgen {
namespace runner_test {

using platform::TestingDirectory;

// File contents by name, including hidden files.
const std::map<std::string, std::string>& ExpectedContents() {
  static const auto contents = [] {
    const TestingDirectory place;
    const auto result = RunIn(place / "data");
    EXPECT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->complete);
    return platform::ContentsOf(place / "data");
  }();
  return contents;
}

std::string ErrorOf(const std::filesystem::path& path, const RunSpec& spec = {}) {
  const auto result = RunIn(path, spec);
  if (result) return "";
  EXPECT_EQ(result.error().code, Error::Code::kIncompatible);
  return result.error().message;
}

testing::AssertionResult Contains(const std::string& message, std::string_view part) {
  if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << message << "' lacks '" << part << "'";
}

TEST(Run, WritesFilesManifestsAndConfiguration) {
  const auto& contents = ExpectedContents();
  // 8 blocks of 3 files of payments, one block of 1 file, and people.
  EXPECT_EQ(contents.size(), 2 * (8u * 3 + 1 + 9) + 2);
  EXPECT_TRUE(contents.contains("payments/part-00024.csv"));
  EXPECT_TRUE(contents.contains("_fraudgen/manifest-payments.part-00024.csv.json"));
  EXPECT_EQ(contents.at("_fraudgen/fraudgen.toml"), RunSpec().configuration);
  const auto whole = ReadManifest(contents.at("_fraudgen/manifest.json"), "manifest.json");
  ASSERT_TRUE(whole) << whole.error().message;
  ASSERT_EQ(whole->size(), 34u);
  for (const FileManifest& file : *whole) {
    EXPECT_EQ(file.bytes, contents.at(file.file).size());
    EXPECT_EQ(file.xxh3_128, HashOf(contents.at(file.file)));
  }
}

TEST(Run, ReturnsTotals) {
  const TestingDirectory place;
  const auto result = RunIn(place / "data");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->progress.rows, kRows);
  EXPECT_EQ(result->progress.rows_made, kRows);
  EXPECT_EQ(result->progress.files_made, 34u);
  EXPECT_EQ(result->progress.files_kept, 0u);
  EXPECT_EQ(result->tables.at("payments").rows, kRows);
  EXPECT_EQ(result->tables.at("payments").files, 25u);
  EXPECT_EQ(result->tables.at("people").files, 9u);
  EXPECT_EQ(result->progress.bytes_made,
            result->tables.at("payments").bytes + result->tables.at("people").bytes);
  EXPECT_GT(result->tables.at("people").bytes, 0u);
  EXPECT_FALSE(result->stopped);
}

TEST(Run, BytesDoNotDependOnThreads) {
  for (const int threads : {2, 3, 20}) {
    const TestingDirectory place;
    ASSERT_TRUE(RunIn(place / "data", {.threads = threads}));
    EXPECT_EQ(platform::ContentsOf(place / "data"), ExpectedContents()) << threads;
  }
}

// In any order; the last shard completes the data set.
TEST(Run, BytesDoNotDependOnShards) {
  for (uint64_t count = 1; count <= 7; ++count) {
    const TestingDirectory place;
    for (uint64_t index = count; index >= 1; --index) {
      const auto result = RunIn(place / "data", {.threads = 2, .shard = {index, count}});
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->complete, index == 1);
    }
    EXPECT_EQ(platform::ContentsOf(place / "data"), ExpectedContents()) << count;
  }
}

TEST(Run, BytesOfCompressedTextDoNotDependOnThreadsShardsOrStops) {
  if (!kHaveArrow) GTEST_SKIP() << "built without Arrow";
  RunSpec spec{.table = {.format = Format::kCsv, .text_codec = Codec::kZstd}};
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "whole", spec)->complete);
  const auto whole = platform::ContentsOf(place / "whole");
  EXPECT_TRUE(whole.contains("payments/part-00024.csv.zst"));
  spec.threads = 3;
  ASSERT_TRUE(RunIn(place / "threads", spec)->complete);
  EXPECT_EQ(platform::ContentsOf(place / "threads"), whole);
  for (const uint64_t index : {3, 1, 2}) {
    spec.shard = {index, 3};
    ASSERT_TRUE(RunIn(place / "shards", spec));
  }
  EXPECT_EQ(platform::ContentsOf(place / "shards"), whole);
  spec.shard = {};
  ASSERT_TRUE(std::filesystem::remove(place / "threads" / "payments" / "part-00004.csv.zst"));
  ASSERT_TRUE(std::filesystem::remove(place / "threads" / "_fraudgen" /
                                      "manifest-payments.part-00004.csv.zst.json"));
  ASSERT_TRUE(RunIn(place / "threads", spec)->complete);
  EXPECT_EQ(platform::ContentsOf(place / "threads"), whole);
}

TEST(Run, ShardWithoutBlocksSucceeds) {
  const TestingDirectory place;
  const auto result = RunIn(place / "data", {.shard = {12, 40}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(result->complete);
  EXPECT_EQ(result->progress.files_made, 0u);
}

TEST(Run, KeepsFinishedFiles) {
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data"));
  const TestingModel model(1, kRows, kBlockRows);
  const auto again = RunIn(place / "data", {}, &model);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(model.made, 0);
  EXPECT_EQ(again->progress.files_kept, 34u);
  EXPECT_EQ(again->progress.rows, kRows);
  EXPECT_EQ(again->progress.rows_made, 0u);
  EXPECT_EQ(again->tables.at("payments").rows, kRows);
  EXPECT_TRUE(again->complete);
}

TEST(Run, RegeneratesOnlyMissingFiles) {
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data"));
  std::filesystem::remove(place / "data/payments/part-00004.csv");  // in the middle of a block
  std::filesystem::remove(place / "data/_fraudgen/manifest-people.part-00005.csv.json");
  std::filesystem::remove(place / "data/_fraudgen/manifest.json");
  const TestingModel model(1, kRows, kBlockRows);
  const auto again = RunIn(place / "data", {}, &model);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(model.made, 2);
  EXPECT_EQ(again->progress.files_made, 2u);
  EXPECT_EQ(again->progress.rows, kRows);
  EXPECT_EQ(platform::ContentsOf(place / "data"), ExpectedContents());
}

TEST(Run, RemovesPartialFiles) {
  const TestingDirectory place;
  place.Write("data/payments/.part-00003.csv.0.partial", "half");
  place.Write("data/_fraudgen/.manifest-payments.part-00003.csv.json.1.partial", "half");
  place.Write("data/_fraudgen/.manifest.json.0.partial", "half");
  place.Write("data/.foreign.csv.0.partial", "foreign");
  ASSERT_TRUE(RunIn(place / "data"));
  auto contents = platform::ContentsOf(place / "data");
  EXPECT_EQ(contents.erase(".foreign.csv.0.partial"), 1u);
  EXPECT_EQ(contents, ExpectedContents());
}

TEST(Run, ResumesAfterStop) {
  const TestingDirectory place;
  int runs = 0;
  for (;; ++runs) {
    ASSERT_LT(runs, 100);
    uint64_t before = UINT64_MAX;
    // Stops after the first new file.
    const auto result =
        RunIn(place / "data", {.threads = 2, .on_progress = [&](const Progress& now) {
                                 if (before == UINT64_MAX) before = now.files_made;
                                 return now.files_made == before;
                               }});
    ASSERT_TRUE(result) << result.error().message;
    if (!result->stopped) break;
    EXPECT_FALSE(result->complete);
  }
  EXPECT_EQ(platform::ContentsOf(place / "data"), ExpectedContents());
}

TEST(Run, StopsWithinABlock) {
  // Too large to finish.
  const TestingModel model(1, 2'000'000'000, 1'000'000'000);
  const TestingDirectory place;
  const auto result =
      RunIn(place / "data", {.on_progress = [](const Progress&) { return false; }}, &model);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->stopped);
  for (const auto& [name, content] : platform::ContentsOf(place / "data")) {
    EXPECT_FALSE(name.ends_with(".partial")) << name;
  }
}

TEST(Run, RejectsOtherData) {
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_TRUE(Contains(ErrorOf(place / "data", {.seed = 2}), "seed"));
  EXPECT_TRUE(Contains(ErrorOf(place / "data", {.seed = 2}), "choose another folder"));
  EXPECT_TRUE(Contains(ErrorOf(place / "data", {.program = "fraudgen 2"}), "fraudgen 1"));
  EXPECT_TRUE(
      Contains(ErrorOf(place / "data", {.configuration = "rows = 25000\nfraud_rate = 0.03\n"}),
               "fraud_rate is 0.02 there and 0.03 here"));
  EXPECT_TRUE(Contains(ErrorOf(place / "data", {.configuration = "rows = 25000\n"}),
                       "fraud_rate is 0.02 there and not set here"));
  std::filesystem::remove(place / "data/_fraudgen/fraudgen.toml");
  EXPECT_TRUE(Contains(ErrorOf(place / "data", {.configuration = "rows = 25000\n"}),
                       "the settings differ"));
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_EQ(platform::ContentsOf(place / "data"), ExpectedContents());
}

TEST(Run, RejectsModifiedFile) {
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data"));
  std::ofstream(place / "data/payments/part-00007.csv", std::ios::app) << "more\n";
  EXPECT_TRUE(Contains(ErrorOf(place / "data"), "payments/part-00007.csv was modified: "));
  std::string content = ExpectedContents().at("payments/part-00007.csv");
  content.back() = ' ';
  place.Write("data/payments/part-00007.csv", content);
  EXPECT_TRUE(Contains(ErrorOf(place / "data"), "modified: hash "));
  std::filesystem::remove(place / "data/payments/part-00007.csv");
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_EQ(platform::ContentsOf(place / "data"), ExpectedContents());
}

TEST(Run, RejectsMalformedManifest) {
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data"));
  place.Write("data/_fraudgen/manifest-payments.part-00007.csv.json", "{");
  EXPECT_TRUE(Contains(ErrorOf(place / "data"), "remove it to regenerate the file"));
  place.Write("data/_fraudgen/manifest-payments.part-00007.csv.json",
              ExpectedContents().at("_fraudgen/manifest-payments.part-00008.csv.json"));
  EXPECT_TRUE(Contains(ErrorOf(place / "data"), "the manifest of"));
  std::filesystem::remove(place / "data/_fraudgen/manifest-payments.part-00007.csv.json");
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_EQ(platform::ContentsOf(place / "data"), ExpectedContents());
}

TEST(Run, DoesNotReplaceForeignFile) {
  const TestingDirectory place;
  place.Write("data/payments/part-00007.csv", "mine\n");
  EXPECT_TRUE(Contains(ErrorOf(place / "data"), "payments/part-00007.csv exists"));
  EXPECT_EQ(platform::ContentsOf(place / "data").at("payments/part-00007.csv"), "mine\n");
  // An identical file was left by a run interrupted before it wrote the manifest.
  place.Write("data/payments/part-00007.csv", ExpectedContents().at("payments/part-00007.csv"));
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_EQ(platform::ContentsOf(place / "data"), ExpectedContents());
}

TEST(Run, RejectsFolderOfOldLayout) {
  const TestingDirectory place;
  place.Write("data/fraudgen.toml", "rows = 1\n");
  EXPECT_TRUE(Contains(ErrorOf(place / "data"), "data set of fraudgen 0.1"));
  EXPECT_EQ(platform::ContentsOf(place / "data").size(), 1u);
}

TEST(Run, RejectsManifestOfUnknownFile) {
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data"));
  FileManifest other = *ReadFileManifest(
      ExpectedContents().at("_fraudgen/manifest-payments.part-00007.csv.json"), "");
  other.file = "payments/part-09999.csv";
  place.Write("data/_fraudgen/manifest-payments.part-09999.csv.json", WriteFileManifest(other));
  EXPECT_TRUE(Contains(ErrorOf(place / "data"), "payments.part-09999.csv"));
}

TEST(Run, RejectsUnexpectedRowCount) {
  const TestingDirectory place;
  TestingModel model(1, kRows, kBlockRows);
  model.excess_rows = 1;
  const auto result = RunIn(place / "data", {}, &model);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Error::Code::kInternal);
  EXPECT_TRUE(Contains(result.error().message, "payments"));
}

// RLIMIT_FSIZE simulates a full disk.
TEST(Run, ReportsFullDiskAndResumes) {
  const TestingDirectory place;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 20'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto full = RunIn(place / "data", {.threads = 3});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, signal_before);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Error::Code::kExhausted);
  EXPECT_TRUE(Contains(full.error().message, (place / "data").string()));
  for (const auto& [name, content] : platform::ContentsOf(place / "data")) {
    EXPECT_EQ(content, ExpectedContents().at(name)) << "only complete files get their names";
  }
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_EQ(platform::ContentsOf(place / "data"), ExpectedContents());
}

// With Arrow the level is invalid, without it the format.
TEST(Run, InvalidOptionsCreateNoFolder) {
  const TestingDirectory place;
  RunSpec spec;
  spec.table = {.format = Format::kParquet, .codec = Codec::kZstd, .level = 99};
  EXPECT_FALSE(RunIn(place / "data", spec));
  EXPECT_FALSE(std::filesystem::exists(place / "data"));
}

TEST(Run, RejectsFileAsFolder) {
  const TestingDirectory place;
  place.Write("data", "a file");
  const auto result = RunIn(place / "data");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Error::Code::kInvalidArgument);
  EXPECT_TRUE(Contains(result.error().message, "choose a folder"));
}

TEST(Run, ReportsReadOnlyFolder) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const TestingDirectory place;
  std::filesystem::create_directory(place / "data");
  std::filesystem::permissions(
      place / "data", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const auto result = RunIn(place / "data");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Error::Code::kPermission);
}

}  // namespace runner_test
}  // namespace reveza::fraudgen
