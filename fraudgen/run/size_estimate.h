// Estimates the size of a data set from one block made in memory, so that a size in real bytes can
// be requested. Deterministic: every shard and every resumed run gets the same result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "fraudgen/model/model.h"
#include "fraudgen/output/manifest.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/partition.h"

namespace reveza::fraudgen {

struct SizeEstimate {
  uint64_t block_rows = 0;  // rows made, of tables whose count is known
  uint64_t rows = 0;        // of these tables in all blocks
  Bytes bytes = 0;          // of all tables, without manifests
  TableTotals tables;
};

// Called after each batch; returning false stops the estimate.
using OnBatch = std::function<bool()>;

// Makes the first block of the model and extrapolates it to all blocks. kUnavailable: stopped.
Result<SizeEstimate> EstimateSize(const Model& model, const TableOptions& options,
                                  uint64_t file_rows, const OnBatch& on_batch,
                                  const PartitionKeys& partition = {});

// Searches for the number of rows with which the files of all tables add up to a size: estimate a
// model of rows(), pass the estimate to Add(), and repeat until done(). Not thread-safe.
class SizeSearch {
 public:
  SizeSearch(Bytes size, Format format, Codec text_codec = Codec::kNone);

  // The number of rows to try next or, once done, the result.
  uint64_t rows() const { return rows_; }
  bool done() const { return done_; }
  // Adds the estimate of rows(). kInvalidArgument: even one row is larger than the size.
  Status Add(const SizeEstimate& estimate);

 private:
  struct Point {
    uint64_t rows;
    Bytes bytes;
  };

  static uint64_t RowsAt(Bytes size, const Point& last, const std::optional<Point>& previous);

  Bytes size_;
  uint64_t rows_;
  int tries_ = 0;
  bool done_ = false;
  std::optional<Point> previous_;
};

}  // namespace reveza::fraudgen
