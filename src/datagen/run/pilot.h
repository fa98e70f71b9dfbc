// How large a data set becomes, found by making one block of it in memory; so a size in true bytes
// can be asked for. The same in every shard and every resume. Pure functions of their arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "datagen/model.h"
#include "datagen/output/table_writer.h"
#include "datagen/run/partition.h"

namespace reveza::datagen {

struct TableSize {
  uint64_t files = 0;
  uint64_t rows = 0;
  Bytes bytes = 0;
};

struct SizeEstimate {
  uint64_t block_rows = 0;  // that were made to find out, of tables whose count is known
  uint64_t rows = 0;        // of the same tables in all blocks
  Bytes bytes = 0;          // of all tables, manifests not counted
  std::map<std::string_view, TableSize> tables;
};

// False: to stop.
using OnBatch = std::function<bool()>;

// Makes the first block and takes the others to be like it.
Result<SizeEstimate> EstimateSize(const Model& model, const TableOptions& options,
                                  uint64_t file_rows, const OnBatch& on_batch,
                                  const PartitionKeys& partition = {});

using ModelOfRows = std::function<Result<std::unique_ptr<Model>>(uint64_t rows)>;

// How many rows to ask for, so that the files of all tables are together as large as `size`.
Result<uint64_t> RowsForSize(Bytes size, const ModelOfRows& model_of, const TableOptions& options,
                             uint64_t file_rows, const OnBatch& on_batch,
                             const PartitionKeys& partition = {});

}  // namespace reveza::datagen
