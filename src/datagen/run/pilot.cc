#include "datagen/run/pilot.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.h"
#include "datagen/blocks.h"
#include "datagen/output/memory_sink.h"
#include "datagen/run/block_files.h"
#include "datagen/run/plan.h"

namespace reveza::datagen {
namespace {

constexpr int kMostTries = 8;

uint64_t Scale(uint64_t value, uint64_t by, uint64_t of) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(value) * by /
                               std::max<uint64_t>(of, 1));
}

uint64_t KnownRows(const Model& model, uint64_t block) {
  uint64_t rows = 0;
  for (const Table* table : model.tables()) rows += model.RowsOf(*table, block);
  return rows;
}

// To begin with, as the models' rows mostly are: right to a tenth, a block need not be made twice.
uint64_t GuessedRowBytes(Format format) {
  switch (format) {
    case Format::kJsonLines:
    case Format::kJson:
      return 1'050;
    case Format::kCsv:
    case Format::kTsv:
      return 325;
    case Format::kParquet:
      return 82;
    case Format::kArrow:
      return 100;
  }
  return 300;
}

struct Point {
  uint64_t rows;
  Bytes bytes;
};

// Where the line through two points (or through one and nothing) has this size; 0: nowhere.
uint64_t RowsAt(Bytes size, const Point& last, const std::optional<Point>& before) {
  if (!before || before->rows == last.rows || before->bytes == last.bytes) {
    return Scale(last.rows, size, last.bytes);
  }
  const auto rise = static_cast<__int128>(last.bytes) - static_cast<__int128>(before->bytes);
  const auto run = static_cast<__int128>(last.rows) - static_cast<__int128>(before->rows);
  const auto missing = static_cast<__int128>(size) - static_cast<__int128>(last.bytes);
  const __int128 rows = static_cast<__int128>(last.rows) + missing * run / rise;
  return static_cast<uint64_t>(std::clamp<__int128>(rows, 0, BlockPlan::kMaxRows));
}

}  // namespace

Result<SizeEstimate> EstimateSize(const Model& model, const TableOptions& options,
                                  uint64_t file_rows, const OnBatch& on_batch,
                                  const PartitionKeys& partition) {
  SizeEstimate estimate;
  const auto plan = Plan::Make(model, options.format, file_rows, Shard{}, partition);
  if (!plan) return std::unexpected(plan.error());
  if (plan->all_blocks() == 0) return estimate;
  std::vector<BlockFile> files;
  for (PlannedFile& planned : plan->FilesOf(0)) files.push_back({.planned = std::move(planned)});
  BlockFiles::Calls calls;
  calls.create = [](const PlannedFile&) -> Result<std::unique_ptr<ByteSink>> {
    return std::make_unique<NullSink>();
  };
  calls.finish = [&](const WrittenFile& file) -> Status {
    TableSize& table = estimate.tables[file.planned.table->name];
    table.rows += file.rows;
    table.bytes += file.bytes;
    return {};
  };
  calls.progress = [&](uint64_t, uint64_t) -> Status {
    if (on_batch()) return {};
    return Fail(Error::Code::kUnavailable, "stopped");
  };
  BlockFiles block(options, std::move(files), std::move(calls));
  if (auto made = model.Make(0, model.tables(), block); !made) return std::unexpected(made.error());
  if (auto ended = block.End(); !ended) return std::unexpected(ended.error());

  estimate.block_rows = KnownRows(model, 0);
  for (uint64_t i = 0; i < plan->all_blocks(); ++i) estimate.rows += KnownRows(model, i);
  for (const Table* table : model.tables()) {
    TableSize& size = estimate.tables[table->name];
    size.files = plan->FilesIn(*table);
    size.rows = Scale(size.rows, estimate.rows, estimate.block_rows);
    size.bytes = Scale(size.bytes, estimate.rows, estimate.block_rows);
    estimate.bytes += size.bytes;
    if (model.RowsOf(*table, 0) == 0) continue;
    size.rows = 0;  // these are known
    for (uint64_t i = 0; i < plan->all_blocks(); ++i) size.rows += model.RowsOf(*table, i);
  }
  return estimate;
}

// With few rows the tables that do not grow with them weigh much, and with other rows there are
// other customers: so it is tried until it fits, or until there are so many blocks that one more
// block would find out nothing new.
Result<uint64_t> RowsForSize(Bytes size, const ModelOfRows& model_of, const TableOptions& options,
                             uint64_t file_rows, const OnBatch& on_batch,
                             const PartitionKeys& partition) {
  std::optional<Point> before;
  uint64_t rows = std::max<uint64_t>(1, size / GuessedRowBytes(options.format));
  for (int i = 0; i < kMostTries; ++i) {
    const auto model = model_of(rows);
    if (!model) return std::unexpected(model.error());
    const auto estimate = EstimateSize(**model, options, file_rows, on_batch, partition);
    if (!estimate) return std::unexpected(estimate.error());
    const Point last{rows, estimate->bytes};
    const Bytes off = last.bytes > size ? last.bytes - size : size - last.bytes;
    if (off <= size / 2000) return rows;
    const uint64_t next = RowsAt(size, last, before);
    if (next == 0) {
      return Fail(Error::Code::kInvalidArgument,
                  fmt::format("{} is too small: with {} rows it is {} already; ask for a larger "
                              "size, fewer customers, or for rows",
                              FormatBytes(size), rows, FormatBytes(last.bytes)));
    }
    const uint64_t change = next > rows ? next - rows : rows - next;
    const bool many = estimate->rows > estimate->block_rows;
    if (next == rows || (many && change <= rows / 10)) return next;
    before = last;
    rows = next;
  }
  return rows;
}

}  // namespace reveza::datagen
