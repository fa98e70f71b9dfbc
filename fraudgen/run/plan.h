// The files of a run and their distribution over shards. Depends only on the model, the format and
// the rows per file, so every shard and every resumed run plans the same files. Thread-safe:
// immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/model/model.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/partition.h"
#include "fraudgen/run/shard.h"

namespace reveza::fraudgen {

struct PlannedFile {
  const Table* table = nullptr;
  uint64_t block = 0;
  uint64_t blocks = 1;     // from `block` on: small tables of large data sets span several
  uint64_t part = 0;       // of the table's rows in these; or the index of the partition folder
  uint64_t first_row = 0;  // among the rows of the table in these blocks
  // Unset: all rows, the number of which is not known in advance.
  std::optional<uint64_t> rows = std::nullopt;
  std::string name = {};  // transactions/part-00012.jsonl
  // Set for a file of one partition folder; `block_rows` are the block's rows of the table in all
  // folders (0: not known in advance).
  std::shared_ptr<const TablePartition> partition = nullptr;
  uint64_t block_rows = 0;
  uint64_t max_late = 0;  // Model::MaxLateRows
};

// Returns the rows of a text file of about 128 MB; 0 (a file per block) for other formats.
uint64_t DefaultFileRows(Format format);

class Plan {
 public:
  // Plans the files of all blocks. A table whose row count the model knows is split into files of
  // `file_rows` rows (0: one file per block); other tables get one file per block; a table with all
  // keys of `partition` gets one per block and folder. Files of small tables span `group_blocks`
  // blocks (0: BlocksPerGroup). `model` must outlive the plan.
  // kInvalidArgument: there are too many files or folders.
  static Result<Plan> Make(const Model& model, Format format, uint64_t file_rows, Shard shard,
                           const PartitionKeys& partition = {}, Codec text_codec = Codec::kNone,
                           uint64_t group_blocks = 0);

  // Returns true if at least one table has all partition keys.
  bool IsPartitioned() const;
  // The blocks of this shard.
  const ShardBlocks& shard() const { return shard_; }
  // Returns the files of any block, in the order of the model's tables. Files that span a group are
  // those of its first block.
  std::vector<PlannedFile> FilesOf(uint64_t block) const;
  // Totals over all shards.
  uint64_t all_blocks() const { return shard_.all_blocks(); }
  uint64_t all_files() const;
  uint64_t FilesIn(const Table& table) const;
  // This shard's files, and its rows of tables whose count is known.
  uint64_t files() const;
  uint64_t rows() const;

 private:
  Plan(const Model& model, std::string extension, uint64_t file_rows, ShardBlocks shard);

  Status AddPartitions(const PartitionKeys& keys);
  // Returns the blocks that the files of a table span from `block` on; 0: an earlier block has
  // them.
  uint64_t SpanOf(std::size_t table, uint64_t block) const;
  // Returns the rows in these blocks; 0: not known.
  uint64_t RowsOf(std::size_t table, uint64_t block) const;
  uint64_t PartsOf(std::size_t table, uint64_t block) const;

  const Model* model_;
  std::string extension_;  // of the files
  uint64_t file_rows_;
  ShardBlocks shard_;
  std::vector<std::shared_ptr<const TablePartition>>
      partitions_;  // by table; null: not partitioned
  // By table: the number of the first file of each block, then the total.
  std::vector<std::vector<uint64_t>> first_numbers_;
};

}  // namespace reveza::fraudgen
