#include "datagen/run/pilot.h"

#include <gtest/gtest.h>

#include <memory>

#include "datagen/output/memory_sink.h"
#include "datagen/run/block_files.h"
#include "datagen/run/plan.h"
#include "datagen/run/testing_model.h"

namespace reveza::datagen {
namespace {

constexpr uint64_t kFileRows = 4000;

bool GoOn() { return true; }

Result<std::unique_ptr<Model>> Make(uint64_t rows) {
  return std::make_unique<TestingModel>(1, rows, 10'000);
}

// What the files are together when all blocks are really made.
Bytes TrueBytes(const Model& model, const TableOptions& options) {
  const auto plan = Plan::Make(model, options.format, kFileRows, Shard{});
  Bytes bytes = 0;
  for (uint64_t i = 0; i < plan->all_blocks(); ++i) {
    std::vector<BlockFile> files;
    for (PlannedFile& planned : plan->FilesOf(i)) files.push_back({.planned = std::move(planned)});
    BlockFiles block(options, std::move(files),
                     {.create = [](const PlannedFile&) -> Result<std::unique_ptr<ByteSink>> {
                        return std::make_unique<NullSink>();
                      },
                      .finish =
                          [&](const WrittenFile& file) {
                            bytes += file.bytes;
                            return Status();
                          },
                      .progress = [](uint64_t, uint64_t) { return Status(); }});
    EXPECT_TRUE(model.Make(i, model.tables(), block));
    EXPECT_TRUE(block.End());
  }
  return bytes;
}

TEST(EstimateSize, OfOneBlockIsExact) {
  const TestingModel model(1, 9'000, 10'000);
  const TableOptions options{.format = Format::kJsonLines};
  const auto estimate = EstimateSize(model, options, kFileRows, GoOn);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->bytes, TrueBytes(model, options));
  EXPECT_EQ(estimate->tables.at("payments").rows, 9'000u);
  EXPECT_EQ(estimate->tables.at("payments").files, 3u);
  EXPECT_EQ(estimate->tables.at("people").rows, 7u);
}

// What the model knows is not estimated.
TEST(EstimateSize, OfSeveralBlocksHasTheirFilesAndRows) {
  const TestingModel model(1, 34'567, 10'000);
  const auto estimate = EstimateSize(model, {.format = Format::kCsv}, kFileRows, GoOn);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->tables.at("payments").rows, 34'567u);
  EXPECT_EQ(estimate->tables.at("payments").files, 11u);
  EXPECT_EQ(estimate->tables.at("people").files, 4u);
  EXPECT_NEAR(static_cast<double>(estimate->bytes),
              static_cast<double>(TrueBytes(model, {.format = Format::kCsv})), 2e4);
}

TEST(EstimateSize, OfNothingIsNothing) {
  const TestingModel model(1, 0, 10'000);
  const auto estimate = EstimateSize(model, {.format = Format::kCsv}, kFileRows, GoOn);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->bytes, 0u);
}

TEST(EstimateSize, CanBeStopped) {
  const TestingModel model(1, 9'000, 10'000);
  EXPECT_FALSE(EstimateSize(model, {.format = Format::kCsv}, kFileRows, [] { return false; }));
}

TEST(RowsForSize, MeetsTheSize) {
  for (const Format format : {Format::kJsonLines, Format::kCsv}) {
    const TableOptions options{.format = format};
    for (const Bytes size : {Bytes{20'000}, Bytes{300'000}, Bytes{1'000'000}, Bytes{5'000'000}}) {
      const auto rows = RowsForSize(size, Make, options, kFileRows, GoOn);
      ASSERT_TRUE(rows) << rows.error().message;
      const double made = static_cast<double>(TrueBytes(**Make(*rows), options));
      EXPECT_NEAR(made / static_cast<double>(size), 1.0, 0.01) << *rows;
      EXPECT_EQ(RowsForSize(size, Make, options, kFileRows, GoOn), *rows);
    }
  }
}

TEST(RowsForSize, RefusesASizeThatCannotBe) {
  const auto rows = RowsForSize(30, Make, {.format = Format::kJsonLines}, kFileRows, GoOn);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, Error::Code::kInvalidArgument);
  EXPECT_NE(rows.error().message.find("too small"), std::string::npos) << rows.error().message;
}

TEST(RowsForSize, PassesErrorsOn) {
  const auto none = [](uint64_t) -> Result<std::unique_ptr<Model>> {
    return Fail(Error::Code::kInvalidArgument, "no such model");
  };
  EXPECT_EQ(RowsForSize(30'000, none, {.format = Format::kCsv}, kFileRows, GoOn).error().message,
            "no such model");
}

}  // namespace
}  // namespace reveza::datagen
