// The interface of a generator of rows. A model divides its data into blocks, each a part of every
// table and the unit of work, sharding and resuming. A block is a function of its index, so its
// rows are the same in every thread, process and machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "common/base/error.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen {

// Changes with the rows of the same settings; see the changelog.
inline constexpr uint64_t kModelVersion = 3;

// Receives the rows of one block. Batches of different tables may be interleaved; those of one
// table arrive in the order in which they must be written. Not thread-safe.
class BatchSink {
 public:
  virtual ~BatchSink() = default;
  // The caller owns and reuses the batch. An error aborts the block.
  virtual Status Put(const Batch& batch) = 0;
};

inline bool IsIn(std::span<const Table* const> tables, const Table& table) {
  return std::ranges::find(tables, &table) != tables.end();
}

// Passes batches to a function.
template <typename Function>
class FunctionSink final : public BatchSink {
 public:
  explicit FunctionSink(Function function) : function_(std::move(function)) {}
  Status Put(const Batch& batch) override { return function_(batch); }

 private:
  Function function_;
};

// Collects rows in a batch and sends it to a sink whenever it is full. Not thread-safe.
class BatchBuffer {
 public:
  // `sink` may be null if no rows are added.
  BatchBuffer(const Table& table, BatchSink* sink) : sink_(sink), batch_(table) {
    batch_.Begin(Batch::kMaxRows);
  }

  bool HasSink() const { return sink_ != nullptr; }
  Batch& batch() { return batch_; }
  std::size_t rows() const { return rows_; }
  // Adds rows that were filled in the batch, from rows().
  Status Add(std::size_t count = 1) {
    rows_ += count;
    return rows_ < Batch::kMaxRows ? Status{} : Flush();
  }
  Status Flush() {
    if (rows_ == 0) return {};
    batch_.Shorten(std::exchange(rows_, 0));
    Status put = sink_->Put(batch_);
    batch_.Begin(Batch::kMaxRows);
    return put;
  }

 private:
  BatchSink* sink_;
  Batch batch_;
  std::size_t rows_ = 0;
};

// Immutable and thread-safe.
class Model {
 public:
  virtual ~Model() = default;

  // The generated tables, in presentation order.
  virtual std::span<const Table* const> tables() const = 0;
  virtual uint64_t blocks() const = 0;
  // Returns the number of rows of a table in a block if it is known in advance, else 0. It is
  // always known for the tables whose size is requested (transactions, rides).
  virtual uint64_t RowsOf(const Table& table, uint64_t block) const = 0;
  // Generates the tables of the block that are `wanted` (pointers from tables()). Returns the
  // sink's error, if any.
  virtual Status Make(uint64_t block, std::span<const Table* const> wanted,
                      BatchSink& sink) const = 0;

  // Whether the table is small beside the others, so that its files may span blocks.
  virtual bool IsSmall(const Table& /*table*/) const { return false; }

  // Whether rows with a timestamp are generated in time order, block by block.
  virtual bool IsInOrder() const { return true; }
  // Returns the maximum number of rows by which a row may be late relative to that order.
  virtual uint64_t MaxLateRows(const Table& /*table*/) const { return 0; }
  // If not IsInOrder(): generates all rows of all blocks, sorted by time, then identifier.
  virtual Status MakeInOrder(const Table& /*table*/, BatchSink& /*sink*/) const {
    return Fail(Error::Code::kInternal, "blocks are already in time order");
  }
};

}  // namespace reveza::fraudgen
