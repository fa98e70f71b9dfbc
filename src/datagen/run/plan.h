// Which files a run consists of, and who makes which. Decided from the model, the format and the
// count of rows in a file alone, so every shard and every resume comes to the same files.
// Immutable, so safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "datagen/model.h"
#include "datagen/output/table_writer.h"
#include "datagen/run/partition.h"

namespace reveza::datagen {

// Part `index` of `count` of a run, from 1.
struct Shard {
  uint64_t index = 1;
  uint64_t count = 1;
};

// Reads "3/8".
Result<Shard> ParseShard(std::string_view text);

struct PlannedFile {
  const Table* table = nullptr;
  uint64_t block = 0;
  uint64_t part = 0;       // of the table's rows in the block; the folder, where it has folders
  uint64_t first_row = 0;  // in the rows that the block has of the table
  // Nothing: all of them, however many there are.
  std::optional<uint64_t> rows = std::nullopt;
  std::string name = {};  // transactions_00012.jsonl, perhaps in a folder
  // Not null: the rows of one folder, of as many as the block has in all (0: nobody knows).
  std::shared_ptr<const TablePartition> partition = nullptr;
  uint64_t block_rows = 0;
  uint64_t most_late = 0;  // as Model::MostLate
};

// As many rows as make a text file of about 128 MB; other formats have a file for each block.
uint64_t DefaultFileRows(Format format);

class Plan {
 public:
  // A block's rows of a table whose count the model knows are cut into files of `file_rows` (0: one
  // file); a table whose count it does not know has one file for each block. A table with all keys
  // of `partition` has one for each block and folder instead. The model must outlive the plan.
  static Result<Plan> Make(const Model& model, Format format, uint64_t file_rows, Shard shard,
                           const PartitionKeys& partition = {});

  // Blocks of this shard, and which the n-th of them is.
  uint64_t blocks() const;
  uint64_t BlockAt(uint64_t n) const;
  // Of any block, in the order of the model's tables.
  std::vector<PlannedFile> FilesOf(uint64_t block) const;
  // Of all shards together.
  uint64_t all_blocks() const { return all_blocks_; }
  uint64_t all_files() const;
  uint64_t FilesIn(const Table& table) const;
  // Of this shard: its files, and the rows of those tables whose count is known.
  uint64_t files() const;
  uint64_t rows() const;

 private:
  Plan(const Model& model, Format format, uint64_t file_rows, Shard shard);

  Status AddPartitions(const PartitionKeys& keys);
  uint64_t PartsOf(std::size_t table, uint64_t block) const;

  const Model* model_;
  Format format_;
  uint64_t file_rows_;
  Shard shard_;
  uint64_t all_blocks_;
  std::vector<std::shared_ptr<const TablePartition>> partitions_;  // of each table, null mostly
  // For each table the number of its first file in each block, and at the end how many there are.
  std::vector<std::vector<uint64_t>> first_numbers_;
};

}  // namespace reveza::datagen
