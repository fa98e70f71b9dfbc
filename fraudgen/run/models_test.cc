// Runs of the real models with small blocks: bytes do not depend on threads or shards.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>

#include "common/platform/testing_directory.h"
#include "common/table/arrow.h"
#include "fraudgen/model/classic/classic_model.h"
#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/model/defects/defective_model.h"
#include "fraudgen/model/graph/graph_model.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/runner.h"
#include "fraudgen/run/size_estimate.h"

namespace reveza::fraudgen {
namespace models_test {

// File hashes by name.
using Hashes = std::map<std::string, std::string>;

Hashes HashesIn(const std::filesystem::path& path) {
  Hashes hashes;
  for (const auto& [name, content] : platform::ContentsOf(path)) hashes[name] = HashOf(content);
  return hashes;
}

// Runs all shards, each with `threads` threads.
void RunInto(const std::filesystem::path& place, const Model& model, Format format, int threads,
             uint64_t shards, uint64_t file_rows = 1'300, int64_t row_group_rows = 1'000) {
  RunOptions options;
  options.table.format = format;
  options.table.row_group_rows = row_group_rows;
  options.threads = threads;
  options.made_by.configuration = HashOf("");
  options.made_by.SetOptions(options.table);
  for (uint64_t index = 1; index <= shards; ++index) {
    const auto plan = Plan::Make(model, format, file_rows, Shard{index, shards});
    Folder folder(place);
    const auto result = Run(model, *plan, options, folder, [](const Progress&) { return true; });
    EXPECT_TRUE(result) << result.error().message;
    EXPECT_TRUE(index < shards || (result && result->complete));
  }
}

Hashes RunIn(const Model& model, Format format, int threads, uint64_t shards) {
  const platform::TestingDirectory place;
  RunInto(place / "data", model, format, threads, shards);
  return HashesIn(place / "data");
}

void ExpectSameBytes(const Model& model) {
  ASSERT_GE(model.blocks(), 3u);
  for (const Format format : {Format::kJsonLines, Format::kCsv}) {
    const Hashes whole = RunIn(model, format, 1, 1);
    EXPECT_TRUE(whole.contains(std::string(kManifestName)));
    EXPECT_EQ(RunIn(model, format, 2, 1), whole);
    EXPECT_EQ(RunIn(model, format, 3, 1), whole);
    EXPECT_EQ(RunIn(model, format, 2, 7), whole);
  }
}

// Removes each file of a block in turn and runs again.
void ExpectSameAfterLoss(const Model& model) {
  const platform::TestingDirectory place;
  const auto folder = place / "data";
  RunInto(folder, model, Format::kCsv, 1, 1);
  const Hashes whole = HashesIn(folder);
  for (const auto& [name, hash] : whole) {
    if (!name.contains("/part-00001.")) continue;
    for (const std::string& lost : {name, ManifestNameOf(name), std::string(kManifestName)}) {
      EXPECT_TRUE(std::filesystem::remove(folder / lost)) << lost;
    }
    RunInto(folder, model, Format::kCsv, 1, 1);
    EXPECT_EQ(HashesIn(folder), whole) << name;
  }
}

std::unique_ptr<Model> SmallCoherent() {
  coherent::Parameters parameters;
  parameters.rows = 6'000;
  parameters.customers = 60;
  parameters.rows_per_block = 2'000;
  return *coherent::CoherentModel::Make(parameters);
}

DefectOptions SomeDefects() {
  DefectOptions options{.seed = 3, .rates = {}, .numbers_as_text = true};
  for (Share& share : options.rates.of) share = {.billionths = 30'000'000};
  return options;
}

TEST(RunOfModels, DefectsAreReproducible) {
  const DefectiveModel model(SmallCoherent(), SomeDefects());
  ExpectSameBytes(model);
  ExpectSameAfterLoss(model);
}

TEST(RunOfModels, GraphIsReproducible) {
  const GraphModel model(SmallCoherent());
  ExpectSameBytes(model);
  ExpectSameAfterLoss(model);
}

TEST(RunOfModels, DefectsWithGraphAreReproducible) {
  const DefectiveModel model(std::make_unique<GraphModel>(SmallCoherent()), SomeDefects());
  ExpectSameAfterLoss(model);
}

TEST(RunOfModels, ClassicIsReproducible) {
  classic::Options options{.kind = classic::Kind::kAll,
                           .seed = 5,
                           .transactions = 9'500,
                           .rides = 4'000,
                           .customers = 700,
                           .start = {2025, 1, 1},
                           .end = {2025, 12, 31},
                           .as_of = {2025, 12, 31},
                           .rows_per_block = 2'000};
  ExpectSameBytes(*classic::ClassicModel::Make(options));
}

TEST(RunOfModels, CoherentIsReproducible) {
  coherent::Parameters parameters;
  parameters.rows = 9'500;
  parameters.customers = 100;
  parameters.rows_per_block = 2'500;
  const auto model = coherent::CoherentModel::Make(parameters);
  ASSERT_TRUE(model) << model.error().message;
  ExpectSameBytes(**model);
}

TEST(RunOfModels, CoherentRidesAreReproducible) {
  coherent::Parameters parameters;
  parameters.rows = 5'000;
  parameters.rides = 7'500;
  parameters.customers = 300;
  parameters.rows_per_block = 2'000;
  const auto model = coherent::CoherentModel::Make(parameters);
  ASSERT_TRUE(model) << model.error().message;
  ExpectSameBytes(**model);
}

// Returns the total size of a run's files, without manifests.
Bytes BytesOf(const Model& model, const TableOptions& options, uint64_t file_rows) {
  const platform::TestingDirectory place;
  RunInto(place / "data", model, options.format, 1, 1, file_rows, options.row_group_rows);
  Bytes bytes = 0;
  for (const auto& [name, content] : platform::ContentsOf(place / "data")) {
    if (!name.starts_with(kMetadataFolder)) bytes += content.size();
  }
  return bytes;
}

// Blocks of the coherent model differ from each other.
TEST(RunOfModels, CoherentMeetsSizeInSeveralBlocks) {
  int tries = 0;
  const auto model_of = [&tries](uint64_t rows) -> Result<std::unique_ptr<Model>> {
    ++tries;
    coherent::Parameters parameters;
    parameters.rows = rows;
    parameters.customers = std::max<uint64_t>(1, rows / 100);
    parameters.rows_per_block = 20'000;
    return coherent::CoherentModel::Make(parameters);
  };
  for (const auto& [format, size] : {std::pair{Format::kJsonLines, Bytes{80'000'000}},
                                     {Format::kCsv, 50'000'000},
                                     {Format::kParquet, 12'000'000}}) {
    if (format == Format::kParquet && !kHaveArrow) continue;
    TableOptions options;
    options.format = format;
    options.row_group_rows = 10'000;
    const uint64_t file_rows = format == Format::kParquet ? 0 : 7'000;
    tries = 0;
    SizeSearch search(size, format);
    while (!search.done()) {
      const auto sample = model_of(search.rows());
      ASSERT_TRUE(sample) << sample.error().message;
      const auto estimate = EstimateSize(**sample, options, file_rows, [] { return true; });
      ASSERT_TRUE(estimate) << estimate.error().message;
      ASSERT_TRUE(search.Add(*estimate));
    }
    // One sample block is enough for text; small columnar blocks are less typical.
    EXPECT_LE(tries, format == Format::kParquet ? 2 : 1) << NameOf(format);
    const auto model = model_of(search.rows());
    EXPECT_GE((*model)->blocks(), 3u);
    // Blocks of 200 customers differ in their entries: a business has several times as many.
    EXPECT_NEAR(
        static_cast<double>(BytesOf(**model, options, file_rows)) / static_cast<double>(size), 1.0,
        0.02)
        << search.rows();
  }
}

}  // namespace models_test
}  // namespace reveza::fraudgen
