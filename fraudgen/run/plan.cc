#include "fraudgen/run/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "fraudgen/output/table_writer.h"
#include "fraudgen/output/text_codec.h"

namespace reveza::fraudgen {
namespace {

// Limits the memory of a plan.
constexpr uint64_t kMaxFiles = 10'000'000;

}  // namespace

uint64_t DefaultFileRows(Format format) {
  switch (format) {
    case Format::kJsonLines:
      return 131'072;
    case Format::kJson:
      return 98'304;
    case Format::kCsv:
    case Format::kTsv:
      return 393'216;
    case Format::kParquet:
    case Format::kArrow:
      return 0;
  }
  return 0;
}

Plan::Plan(const Model& model, std::string extension, uint64_t file_rows, ShardBlocks shard)
    : model_(&model), extension_(std::move(extension)), file_rows_(file_rows), shard_(shard) {}

Status Plan::AddPartitions(const PartitionKeys& keys) {
  for (const Table* table : model_->tables()) {
    ASSIGN_OR_RETURN(auto partition, TablePartition::Make(*table, keys));
    partitions_.push_back(std::move(partition));
  }
  return {};
}

Result<Plan> Plan::Make(const Model& model, Format format, uint64_t file_rows, Shard shard,
                        const PartitionKeys& partition, Codec text_codec, uint64_t group_blocks) {
  Plan plan(model, ExtensionOf(format, text_codec), file_rows,
            ShardBlocks(model.blocks(), shard, group_blocks));
  RETURN_IF_ERROR(plan.AddPartitions(partition));
  uint64_t files = 0;
  for (std::size_t table = 0; table < model.tables().size(); ++table) {
    std::vector<uint64_t>& numbers = plan.first_numbers_.emplace_back();
    numbers.reserve(plan.all_blocks() + 1);
    numbers.push_back(0);
    for (uint64_t block = 0; block < plan.all_blocks(); ++block) {
      numbers.push_back(numbers.back() + plan.PartsOf(table, block));
      if (files + numbers.back() > kMaxFiles) {
        return InvalidArgument("more than {} files; increase file_rows", kMaxFiles);
      }
    }
    files += numbers.back();
  }
  return plan;
}

bool Plan::IsPartitioned() const {
  return std::ranges::any_of(partitions_, [](const auto& each) { return each != nullptr; });
}

uint64_t Plan::SpanOf(std::size_t table, uint64_t block) const {
  if (partitions_[table] || !model_->IsSmall(*model_->tables()[table])) return 1;
  return shard_.SpanOf(block);
}

uint64_t Plan::RowsOf(std::size_t table, uint64_t block) const {
  uint64_t rows = 0;
  for (uint64_t i = 0; i < SpanOf(table, block); ++i) {
    rows += model_->RowsOf(*model_->tables()[table], block + i);
  }
  return rows;
}

uint64_t Plan::PartsOf(std::size_t table, uint64_t block) const {
  if (partitions_[table]) return partitions_[table]->folders();
  if (SpanOf(table, block) == 0) return 0;
  const uint64_t rows = RowsOf(table, block);
  if (rows == 0 || file_rows_ == 0) return 1;
  return (rows + file_rows_ - 1) / file_rows_;
}

std::vector<PlannedFile> Plan::FilesOf(uint64_t block) const {
  std::vector<PlannedFile> files;
  for (std::size_t i = 0; i < first_numbers_.size(); ++i) {
    const Table* table = model_->tables()[i];
    const uint64_t number = first_numbers_[i][block];
    const uint64_t parts = first_numbers_[i][block + 1] - number;
    const uint64_t rows = RowsOf(i, block);
    for (uint64_t part = 0; part < parts; ++part) {
      PlannedFile file{.table = table, .block = block, .blocks = SpanOf(i, block), .part = part};
      if (partitions_[i]) {
        file.name =
            fmt::format("{}/part-{:05}.{}", partitions_[i]->NameOf(part), block, extension_);
        file.partition = partitions_[i];
        file.block_rows = rows;
        file.max_late = model_->MaxLateRows(*table);
        files.push_back(std::move(file));
        continue;
      }
      file.name = fmt::format("{}/part-{:05}.{}", table->name, number + part, extension_);
      if (rows > 0) {
        const uint64_t max_rows = file_rows_ == 0 ? rows : file_rows_;
        file.first_row = part * max_rows;
        file.rows = std::min(max_rows, rows - file.first_row);
      }
      files.push_back(std::move(file));
    }
  }
  return files;
}

uint64_t Plan::all_files() const {
  uint64_t files = 0;
  for (const auto& numbers : first_numbers_) files += numbers.back();
  return files;
}

uint64_t Plan::FilesIn(const Table& table) const {
  const auto found = std::ranges::find(model_->tables(), &table);
  assert(found != model_->tables().end());
  return first_numbers_[static_cast<std::size_t>(found - model_->tables().begin())].back();
}

uint64_t Plan::files() const {
  uint64_t files = 0;
  for (uint64_t n = 0; n < shard_.blocks(); ++n) {
    for (const auto& numbers : first_numbers_) {
      files += numbers[shard_.BlockAt(n) + 1] - numbers[shard_.BlockAt(n)];
    }
  }
  return files;
}

uint64_t Plan::rows() const {
  uint64_t rows = 0;
  for (uint64_t n = 0; n < shard_.blocks(); ++n) {
    for (const Table* table : model_->tables()) rows += model_->RowsOf(*table, shard_.BlockAt(n));
  }
  return rows;
}

}  // namespace reveza::fraudgen
