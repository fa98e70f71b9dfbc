// What makes the rows. A model divides its world into blocks, each a part of every table: the unit
// of work, of a shard and of a resume. A block is made from its index alone, so the same block has
// the same rows whoever makes it, and wherever.
#pragma once

#include <cstdint>
#include <span>

#include "base/error.h"
#include "datagen/batch.h"
#include "datagen/schema.h"

namespace reveza::datagen {

// Takes the rows of one block as they come. Batches of several tables may come mixed; those of one
// table come in the order in which they are to be written. Not safe from several threads.
class BatchSink {
 public:
  virtual ~BatchSink() = default;
  // The batch is the caller's, who uses it again. An error ends the block.
  virtual Status Put(const Batch& batch) = 0;
};

// Immutable, so safe from any thread.
class Model {
 public:
  virtual ~Model() = default;

  // What it makes, in the order in which a person would read it.
  virtual std::span<const Table* const> tables() const = 0;
  virtual uint64_t blocks() const = 0;
  // How many rows of a table a block has, where that is known before it is made: always of the
  // tables that a size is asked for (transactions, rides). Else 0.
  virtual uint64_t RowsOf(const Table& table, uint64_t block) const = 0;
  // Makes those of the block's tables that are `wanted` (pointers out of tables()).
  virtual Status Make(uint64_t block, std::span<const Table* const> wanted,
                      BatchSink& sink) const = 0;

  // Whether the rows of a table with times come in order of time, block by block.
  virtual bool IsInOrder() const { return true; }
  // How many rows of the table, at most, come between the place of a row in that order and the row,
  // where some are late on purpose.
  virtual uint64_t MostLate(const Table& /*table*/) const { return 0; }
  // Where they do not: makes all rows of all blocks, in order of time and then identifier.
  virtual Status MakeInOrder(const Table& /*table*/, BatchSink& /*sink*/) const {
    return Fail(Error::Code::kInternal, "the blocks are in order themselves");
  }
};

}  // namespace reveza::datagen
