#include "datagen/run/runner.h"

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

#include "datagen/output/hashing_sink.h"
#include "datagen/run/folder.h"
#include "datagen/run/testing_model.h"
#include "platform/testing_directory.h"

namespace reveza::datagen {
namespace {

using platform::TestingDirectory;

constexpr uint64_t kRows = 25'000;
constexpr uint64_t kBlockRows = 3'000;
constexpr uint64_t kFileRows = 1'100;

struct Asked {
  uint64_t seed = 1;
  TableOptions table = {.format = Format::kCsv};
  std::string program = "fraudgen 1";
  std::string configuration = "rows = 25000\nfraud_rate = 0.02\n";
  int threads = 1;
  Shard shard = {};
  OnProgress on_progress = [](const Progress&) { return true; };
};

RunOptions OptionsOf(const Asked& asked) {
  RunOptions options;
  options.table = asked.table;
  options.configuration = asked.configuration;
  options.threads = asked.threads;
  options.made_by.program = asked.program;
  options.made_by.model = "testing";
  options.made_by.seed = asked.seed;
  options.made_by.configuration = HashOf(asked.configuration);
  options.made_by.SetOptions(options.table);
  return options;
}

Result<RunResult> RunIn(const std::filesystem::path& path, const Asked& asked = {},
                        const Model* model = nullptr) {
  const TestingModel own(asked.seed, kRows, kBlockRows);
  if (model == nullptr) model = &own;
  const auto plan = Plan::Make(*model, Format::kCsv, kFileRows, asked.shard);
  Folder folder(path);
  return Run(*model, *plan, OptionsOf(asked), folder, asked.on_progress);
}

// Every file, hidden ones too, by name.
std::map<std::string, std::string> Contents(const std::filesystem::path& path) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::ifstream file(entry.path(), std::ios::binary);
    contents[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return contents;
}

const std::map<std::string, std::string>& Whole() {
  static const auto contents = [] {
    const TestingDirectory place;
    const auto result = RunIn(place / "data");
    EXPECT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->complete);
    return Contents(place / "data");
  }();
  return contents;
}

std::string RefusalOf(const std::filesystem::path& path, const Asked& asked = {}) {
  const auto result = RunIn(path, asked);
  if (result) return "";
  EXPECT_EQ(result.error().code, Error::Code::kIncompatible);
  return result.error().message;
}

testing::AssertionResult Says(const std::string& message, std::string_view part) {
  if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << message << "' lacks '" << part << "'";
}

TEST(Run, MakesFilesManifestsAndTheConfiguration) {
  const auto& contents = Whole();
  // 8 blocks of 3 files of payments, one block of 1 file, and people.
  EXPECT_EQ(contents.size(), 2 * (8u * 3 + 1 + 9) + 2);
  EXPECT_TRUE(contents.contains("payments_00024.csv"));
  EXPECT_TRUE(contents.contains("manifest-payments_00024.csv.json"));
  EXPECT_EQ(contents.at("fraudgen.toml"), Asked().configuration);
  const auto whole = ReadManifest(contents.at("manifest.json"), "manifest.json");
  ASSERT_TRUE(whole) << whole.error().message;
  ASSERT_EQ(whole->size(), 34u);
  for (const FileManifest& file : *whole) {
    EXPECT_EQ(file.bytes, contents.at(file.file).size());
    EXPECT_EQ(file.xxh3_128, HashOf(contents.at(file.file)));
  }
}

TEST(Run, SaysWhatItMade) {
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

TEST(Run, AnyThreadsMakeTheSameBytes) {
  for (const int threads : {2, 3, 20}) {
    const TestingDirectory place;
    ASSERT_TRUE(RunIn(place / "data", {.threads = threads}));
    EXPECT_EQ(Contents(place / "data"), Whole()) << threads;
  }
}

// In one folder, in any order; only the last one sees all of them.
TEST(Run, ShardsTogetherMakeTheSameBytes) {
  for (uint64_t count = 1; count <= 7; ++count) {
    const TestingDirectory place;
    for (uint64_t index = count; index >= 1; --index) {
      const auto result = RunIn(place / "data", {.threads = 2, .shard = {index, count}});
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->complete, index == 1);
    }
    EXPECT_EQ(Contents(place / "data"), Whole()) << count;
  }
}

TEST(Run, AShardWithoutBlocksSucceeds) {
  const TestingDirectory place;
  const auto result = RunIn(place / "data", {.shard = {12, 40}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(result->complete);
  EXPECT_EQ(result->progress.files_made, 0u);
}

TEST(Run, KeepsWhatIsThere) {
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

TEST(Run, MakesAgainOnlyWhatIsMissing) {
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data"));
  std::filesystem::remove(place / "data/payments_00004.csv");  // in the middle of a block
  std::filesystem::remove(place / "data/manifest-people_00005.csv.json");
  std::filesystem::remove(place / "data/manifest.json");
  const TestingModel model(1, kRows, kBlockRows);
  const auto again = RunIn(place / "data", {}, &model);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(model.made, 2);
  EXPECT_EQ(again->progress.files_made, 2u);
  EXPECT_EQ(again->progress.rows, kRows);
  EXPECT_EQ(Contents(place / "data"), Whole());
}

TEST(Run, RemovesWhatADeadRunLeft) {
  const TestingDirectory place;
  place.Write("data/.payments_00003.csv.0.partial", "half");
  place.Write("data/.manifest-payments_00003.csv.json.1.partial", "half");
  place.Write("data/.manifest.json.0.partial", "half");
  place.Write("data/.foreign.csv.0.partial", "of somebody else");
  ASSERT_TRUE(RunIn(place / "data"));
  auto contents = Contents(place / "data");
  EXPECT_EQ(contents.erase(".foreign.csv.0.partial"), 1u);
  EXPECT_EQ(contents, Whole());
}

TEST(Run, GoesOnWhereItWasStopped) {
  const TestingDirectory place;
  int runs = 0;
  for (;; ++runs) {
    ASSERT_LT(runs, 100);
    uint64_t before = UINT64_MAX;
    // Stops as soon as some file is new.
    const auto result =
        RunIn(place / "data", {.threads = 2, .on_progress = [&](const Progress& now) {
                                 if (before == UINT64_MAX) before = now.files_made;
                                 return now.files_made == before;
                               }});
    ASSERT_TRUE(result) << result.error().message;
    if (!result->stopped) break;
    EXPECT_FALSE(result->complete);
  }
  EXPECT_EQ(Contents(place / "data"), Whole());
}

TEST(Run, StopsAtOnceWhenItIsTold) {
  // More than anybody waits for.
  const TestingModel model(1, 2'000'000'000, 1'000'000'000);
  const TestingDirectory place;
  const auto result =
      RunIn(place / "data", {.on_progress = [](const Progress&) { return false; }}, &model);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->stopped);
  for (const auto& [name, content] : Contents(place / "data")) {
    EXPECT_FALSE(name.ends_with(".partial")) << name;
  }
}

TEST(Run, RefusesAFolderOfOtherData) {
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_TRUE(Says(RefusalOf(place / "data", {.seed = 2}), "the seed is 1 there and 2 here"));
  EXPECT_TRUE(Says(RefusalOf(place / "data", {.seed = 2}), "write to another folder"));
  EXPECT_TRUE(Says(RefusalOf(place / "data", {.program = "fraudgen 2"}), "'fraudgen 1' there"));
  EXPECT_TRUE(
      Says(RefusalOf(place / "data", {.configuration = "rows = 25000\nfraud_rate = 0.03\n"}),
           "fraud_rate is 0.02 there and 0.03 here"));
  EXPECT_TRUE(Says(RefusalOf(place / "data", {.configuration = "rows = 25000\n"}),
                   "fraud_rate is 0.02 there and not set here"));
  std::filesystem::remove(place / "data/fraudgen.toml");
  EXPECT_TRUE(Says(RefusalOf(place / "data", {.configuration = "rows = 25000\n"}),
                   "made with other settings"));
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_EQ(Contents(place / "data"), Whole());
}

TEST(Run, RefusesAFileThatWasChanged) {
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data"));
  std::ofstream(place / "data/payments_00007.csv", std::ios::app) << "more\n";
  EXPECT_TRUE(Says(RefusalOf(place / "data"), "payments_00007.csv was changed: it has"));
  std::string content = Whole().at("payments_00007.csv");
  content.back() = ' ';
  place.Write("data/payments_00007.csv", content);
  EXPECT_TRUE(Says(RefusalOf(place / "data"), "its hash is"));
  std::filesystem::remove(place / "data/payments_00007.csv");
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_EQ(Contents(place / "data"), Whole());
}

TEST(Run, RefusesAManifestThatIsNone) {
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data"));
  place.Write("data/manifest-payments_00007.csv.json", "{");
  EXPECT_TRUE(Says(RefusalOf(place / "data"), "remove it, and its file is made again"));
  place.Write("data/manifest-payments_00007.csv.json",
              Whole().at("manifest-payments_00008.csv.json"));
  EXPECT_TRUE(Says(RefusalOf(place / "data"), "the manifest of"));
  std::filesystem::remove(place / "data/manifest-payments_00007.csv.json");
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_EQ(Contents(place / "data"), Whole());
}

TEST(Run, DoesNotReplaceSomebodyElsesFile) {
  const TestingDirectory place;
  place.Write("data/payments_00007.csv", "mine\n");
  EXPECT_TRUE(Says(RefusalOf(place / "data"), "payments_00007.csv is there already"));
  EXPECT_EQ(Contents(place / "data").at("payments_00007.csv"), "mine\n");
  // What a run left that ended between the file and its manifest is its own.
  place.Write("data/payments_00007.csv", Whole().at("payments_00007.csv"));
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_EQ(Contents(place / "data"), Whole());
}

TEST(Run, SaysThatAFileTooManyIsThere) {
  const TestingDirectory place;
  ASSERT_TRUE(RunIn(place / "data"));
  FileManifest other = *ReadFileManifest(Whole().at("manifest-payments_00007.csv.json"), "");
  other.file = "payments_09999.csv";
  place.Write("data/manifest-payments_09999.csv.json", WriteFileManifest(other));
  EXPECT_TRUE(Says(RefusalOf(place / "data"), "a file that this data does not have"));
}

TEST(Run, SaysWhenAModelMakesOtherRowsThanItSaid) {
  const TestingDirectory place;
  TestingModel model(1, kRows, kBlockRows);
  model.too_many = 1;
  const auto result = RunIn(place / "data", {}, &model);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Error::Code::kInternal);
  EXPECT_TRUE(Says(result.error().message, "other than planned"));
}

// The limit on the size of a file ends writing as a full disk does.
TEST(Run, OnAFullDiskSaysSoAndGoesOnLater) {
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
  EXPECT_TRUE(Says(full.error().message, "make room"));
  for (const auto& [name, content] : Contents(place / "data")) {
    EXPECT_EQ(content, Whole().at(name)) << "what has its name is whole";
  }
  ASSERT_TRUE(RunIn(place / "data"));
  EXPECT_EQ(Contents(place / "data"), Whole());
}

// With Arrow the level is refused, without it the format.
TEST(Run, WhatNoFileCanBeMadeWithLeavesNoFolder) {
  const TestingDirectory place;
  Asked asked;
  asked.table = {.format = Format::kParquet, .codec = Codec::kZstd, .level = 99};
  EXPECT_FALSE(RunIn(place / "data", asked));
  EXPECT_FALSE(std::filesystem::exists(place / "data"));
}

TEST(Run, SaysThatTheFolderIsAFile) {
  const TestingDirectory place;
  place.Write("data", "a file");
  const auto result = RunIn(place / "data");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Error::Code::kInvalidArgument);
  EXPECT_TRUE(Says(result.error().message, "name a folder"));
}

TEST(Run, SaysThatTheFolderCannotBeWrittenTo) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const TestingDirectory place;
  std::filesystem::create_directory(place / "data");
  std::filesystem::permissions(
      place / "data", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  const auto result = RunIn(place / "data");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Error::Code::kPermission);
}

}  // namespace
}  // namespace reveza::datagen
