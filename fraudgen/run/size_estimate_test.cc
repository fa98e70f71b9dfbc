#include "fraudgen/run/size_estimate.h"

#include <gtest/gtest.h>

#include <memory>

#include "common/table/arrow.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/run/block_files.h"
#include "fraudgen/run/plan.h"
#include "fraudgen/run/testing_model.h"

namespace reveza::fraudgen {
namespace size_estimate_test {

constexpr uint64_t kFileRows = 4000;

bool Continue() { return true; }

Result<std::unique_ptr<Model>> Make(uint64_t rows) {
  return std::make_unique<TestingModel>(1, rows, 10'000);
}

Result<uint64_t> RowsForSize(Bytes size, const TableOptions& options) {
  SizeSearch search(size, options.format, options.text_codec);
  while (!search.done()) {
    ASSIGN_OR_RETURN(const auto model, Make(search.rows()));
    ASSIGN_OR_RETURN(const auto estimate, EstimateSize(*model, options, kFileRows, Continue));
    RETURN_IF_ERROR(search.Add(estimate));
  }
  return search.rows();
}

// Makes all blocks and returns the total size of their files.
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

TEST(EstimateSize, IsExactForOneBlock) {
  const TestingModel model(1, 9'000, 10'000);
  const TableOptions options{.format = Format::kJsonLines};
  const auto estimate = EstimateSize(model, options, kFileRows, Continue);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->bytes, TrueBytes(model, options));
  EXPECT_EQ(estimate->tables.at("payments").rows, 9'000u);
  EXPECT_EQ(estimate->tables.at("payments").files, 3u);
  EXPECT_EQ(estimate->tables.at("people").rows, 7u);
}

// Counts that the model knows are not estimated.
TEST(EstimateSize, CountsKnownRowsAndFilesExactly) {
  const TestingModel model(1, 34'567, 10'000);
  const auto estimate = EstimateSize(model, {.format = Format::kCsv}, kFileRows, Continue);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->tables.at("payments").rows, 34'567u);
  EXPECT_EQ(estimate->tables.at("payments").files, 11u);
  EXPECT_EQ(estimate->tables.at("people").files, 4u);
  EXPECT_NEAR(static_cast<double>(estimate->bytes),
              static_cast<double>(TrueBytes(model, {.format = Format::kCsv})), 2e4);
}

TEST(EstimateSize, IsZeroWithoutRows) {
  const TestingModel model(1, 0, 10'000);
  const auto estimate = EstimateSize(model, {.format = Format::kCsv}, kFileRows, Continue);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->bytes, 0u);
}

TEST(EstimateSize, StopsWhenCallbackReturnsFalse) {
  const TestingModel model(1, 9'000, 10'000);
  EXPECT_FALSE(EstimateSize(model, {.format = Format::kCsv}, kFileRows, [] { return false; }));
}

TEST(SizeSearch, MeetsSizeWithinOnePercent) {
  std::vector<TableOptions> all = {{.format = Format::kJsonLines}, {.format = Format::kCsv}};
  if (kHaveArrow) all.push_back({.format = Format::kCsv, .text_codec = Codec::kGzip});
  for (const TableOptions& options : all) {
    for (const Bytes size : {Bytes{20'000}, Bytes{300'000}, Bytes{1'000'000}, Bytes{5'000'000}}) {
      const auto rows = RowsForSize(size, options);
      ASSERT_TRUE(rows) << rows.error().message;
      const double made = static_cast<double>(TrueBytes(**Make(*rows), options));
      EXPECT_NEAR(made / static_cast<double>(size), 1.0, 0.01) << *rows;
      EXPECT_EQ(RowsForSize(size, options), *rows);
    }
  }
}

TEST(SizeSearch, RejectsSizeBelowOneRow) {
  const auto rows = RowsForSize(30, {.format = Format::kJsonLines});
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, Error::Code::kInvalidArgument);
  EXPECT_NE(rows.error().message.find("too small"), std::string::npos) << rows.error().message;
}

}  // namespace size_estimate_test
}  // namespace reveza::fraudgen
