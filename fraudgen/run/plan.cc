#include "fraudgen/run/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "common/base/parse_number.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/output/text_codec.h"

namespace reveza::fraudgen {
namespace {

constexpr uint64_t kMaxShards = 1'000'000;
// Limits the memory of a plan.
constexpr uint64_t kMaxFiles = 10'000'000;

}  // namespace

Result<Shard> ParseShard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto index = ParseNumber<uint64_t>(text.substr(0, slash));
  const auto count =
      slash == text.npos ? std::nullopt : ParseNumber<uint64_t>(text.substr(slash + 1));
  if (!index || !count) {
    return InvalidArgument("'{}' is not a shard; expected INDEX/COUNT, such as 3/8", text);
  }
  if (*count == 0 || *count > kMaxShards) {
    return InvalidArgument("'{}': the number of shards must be 1 to {}", text, kMaxShards);
  }
  if (*index == 0 || *index > *count) {
    return InvalidArgument("'{}': shard {} of {} does not exist; expected 1 to {}", text, *index,
                           *count, *count);
  }
  return Shard{*index, *count};
}

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

Plan::Plan(const Model& model, std::string extension, uint64_t file_rows, Shard shard)
    : model_(&model),
      extension_(std::move(extension)),
      file_rows_(file_rows),
      shard_(shard),
      all_blocks_(model.blocks()),
      group_blocks_(BlocksPerGroup(all_blocks_)) {}

Status Plan::AddPartitions(const PartitionKeys& keys) {
  for (const Table* table : model_->tables()) {
    ASSIGN_OR_RETURN(auto partition, TablePartition::Make(*table, keys));
    partitions_.push_back(std::move(partition));
  }
  return {};
}

Result<Plan> Plan::Make(const Model& model, Format format, uint64_t file_rows, Shard shard,
                        const PartitionKeys& partition, Codec text_codec, uint64_t group_blocks) {
  assert(shard.index >= 1 && shard.index <= shard.count);
  Plan plan(model, ExtensionOf(format, text_codec), file_rows, shard);
  if (group_blocks > 0) plan.group_blocks_ = group_blocks;
  RETURN_IF_ERROR(plan.AddPartitions(partition));
  uint64_t files = 0;
  for (std::size_t table = 0; table < model.tables().size(); ++table) {
    std::vector<uint64_t>& numbers = plan.first_numbers_.emplace_back();
    numbers.reserve(plan.all_blocks_ + 1);
    numbers.push_back(0);
    for (uint64_t block = 0; block < plan.all_blocks_; ++block) {
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
  return block % group_blocks_ == 0 ? std::min(group_blocks_, all_blocks_ - block) : 0;
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

// Round robin: shards differ by at most one group.
uint64_t Plan::groups() const {
  const uint64_t all = (all_blocks_ + group_blocks_ - 1) / group_blocks_;
  return all / shard_.count + (shard_.index <= all % shard_.count ? 1 : 0);
}

std::pair<uint64_t, uint64_t> Plan::GroupAt(uint64_t n) const {
  const uint64_t first = (n * shard_.count + shard_.index - 1) * group_blocks_;
  return {first, std::min(first + group_blocks_, all_blocks_)};
}

uint64_t Plan::blocks() const {
  if (groups() == 0) return 0;
  // Only the last group may be smaller.
  const auto [first, end] = GroupAt(groups() - 1);
  return (groups() - 1) * group_blocks_ + end - first;
}

uint64_t Plan::BlockAt(uint64_t n) const {
  return GroupAt(n / group_blocks_).first + n % group_blocks_;
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
  for (uint64_t n = 0; n < blocks(); ++n) {
    for (const auto& numbers : first_numbers_) {
      files += numbers[BlockAt(n) + 1] - numbers[BlockAt(n)];
    }
  }
  return files;
}

uint64_t Plan::rows() const {
  uint64_t rows = 0;
  for (uint64_t n = 0; n < blocks(); ++n) {
    for (const Table* table : model_->tables()) rows += model_->RowsOf(*table, BlockAt(n));
  }
  return rows;
}

}  // namespace reveza::fraudgen
