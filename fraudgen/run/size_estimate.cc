#include "fraudgen/run/size_estimate.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/units.h"
#include "fraudgen/model/blocks.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/run/block_files.h"
#include "fraudgen/run/plan.h"

namespace reveza::fraudgen {
namespace {

constexpr int kMaxTries = 8;
// Initial guess for compressed text.
constexpr uint64_t kCompressedRowBytes = 110;

uint64_t Scale(uint64_t value, uint64_t numerator, uint64_t denominator) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(value) * numerator /
                               std::max<uint64_t>(denominator, 1));
}

uint64_t KnownRows(const Model& model, uint64_t block) {
  uint64_t rows = 0;
  for (const Table* table : model.tables()) rows += model.RowsOf(*table, block);
  return rows;
}

// Initial guess, within a tenth of typical rows, so that one block is usually enough.
uint64_t TypicalRowBytes(Format format) {
  switch (format) {
    case Format::kJsonLines:
    case Format::kJson:
      return 1'150;
    case Format::kCsv:
    case Format::kTsv:
      return 355;
    case Format::kParquet:
      return 66;
    case Format::kArrow:
      return 110;
  }
  return 300;
}

}  // namespace

Result<SizeEstimate> EstimateSize(const Model& model, const TableOptions& options,
                                  uint64_t file_rows, const OnBatch& on_batch,
                                  const PartitionKeys& partition) {
  SizeEstimate estimate;
  ASSIGN_OR_RETURN(const auto plan, Plan::Make(model, options.format, file_rows, Shard{}, partition,
                                               options.text_codec));
  if (plan.all_blocks() == 0) return estimate;
  std::vector<BlockFile> files;
  for (PlannedFile& planned : plan.FilesOf(0)) {
    if (planned.blocks > 1) {
      // The sample block has one file of its rows.
      if (planned.part > 0) continue;
      planned.blocks = 1;
      planned.rows.reset();
    }
    files.push_back({.planned = std::move(planned)});
  }
  BlockFiles::Calls calls;
  calls.create = [](const PlannedFile&) -> Result<std::unique_ptr<ByteSink>> {
    return std::make_unique<NullSink>();
  };
  calls.finish = [&](const WrittenFile& file) -> Status {
    TableTotal& table = estimate.tables[file.planned.table->name];
    table.rows += file.rows;
    table.bytes += file.bytes;
    return {};
  };
  calls.progress = [&](uint64_t, uint64_t) -> Status {
    if (on_batch()) return {};
    return Fail(Error::Code::kUnavailable, "stopped");
  };
  BlockFiles block(options, std::move(files), std::move(calls));
  RETURN_IF_ERROR(model.Make(0, model.tables(), block));
  RETURN_IF_ERROR(block.End());

  estimate.block_rows = KnownRows(model, 0);
  for (uint64_t i = 0; i < plan.all_blocks(); ++i) estimate.rows += KnownRows(model, i);
  for (const Table* table : model.tables()) {
    TableTotal& size = estimate.tables[table->name];
    size.files = plan.FilesIn(*table);
    size.rows = Scale(size.rows, estimate.rows, estimate.block_rows);
    size.bytes = Scale(size.bytes, estimate.rows, estimate.block_rows);
    estimate.bytes += size.bytes;
    if (model.RowsOf(*table, 0) == 0) continue;
    size.rows = 0;  // the exact count is known
    for (uint64_t i = 0; i < plan.all_blocks(); ++i) size.rows += model.RowsOf(*table, i);
  }
  return estimate;
}

// Returns where the line through two points (or one point and the origin) has this size; 0:
// nowhere.
uint64_t SizeSearch::RowsAt(Bytes size, const Point& last, const std::optional<Point>& previous) {
  if (!previous || previous->rows == last.rows || previous->bytes == last.bytes) {
    return Scale(last.rows, size, last.bytes);
  }
  const auto rise = static_cast<__int128>(last.bytes) - static_cast<__int128>(previous->bytes);
  const auto run = static_cast<__int128>(last.rows) - static_cast<__int128>(previous->rows);
  const auto missing = static_cast<__int128>(size) - static_cast<__int128>(last.bytes);
  const __int128 rows = static_cast<__int128>(last.rows) + missing * run / rise;
  return static_cast<uint64_t>(std::clamp<__int128>(rows, 0, BlockPlan::kMaxRows));
}

SizeSearch::SizeSearch(Bytes size, Format format, Codec text_codec)
    : size_(size),
      rows_(std::max<uint64_t>(
          1, size / (text_codec == Codec::kNone ? TypicalRowBytes(format) : kCompressedRowBytes))) {
}

// Size is not proportional to rows: some tables have a fixed size, and the number of customers
// depends on the rows. The search ends when the estimate fits, or when there are so many blocks
// that another sample block would not tell more.
Status SizeSearch::Add(const SizeEstimate& estimate) {
  const Point last{rows_, estimate.bytes};
  const Bytes off = last.bytes > size_ ? last.bytes - size_ : size_ - last.bytes;
  if (off <= size_ / 2000) {
    done_ = true;
    return {};
  }
  const uint64_t next = RowsAt(size_, last, previous_);
  if (next == 0) {
    return InvalidArgument(
        "{} is too small: {} rows already take {}; increase the size, reduce the customers or set "
        "rows",
        FormatBytes(size_), rows_, FormatBytes(last.bytes));
  }
  const uint64_t change = next > rows_ ? next - rows_ : rows_ - next;
  const bool many_blocks = estimate.rows > estimate.block_rows;
  ++tries_;
  done_ = next == rows_ || (many_blocks && change <= rows_ / 10) || tries_ == kMaxTries;
  previous_ = last;
  rows_ = next;
  return {};
}

}  // namespace reveza::fraudgen
