// Injects defects into the rows of one table and block, and records them in the answer key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/model/defects/defect_plan.h"
#include "fraudgen/model/model.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"
#include "fraudgen/schema/schema_derived.h"

namespace reveza::fraudgen {

// The unknown value of a damaged category.
inline constexpr std::string_view kUnknownValue = "N/A";

// The schema of a table with injected defects: the same columns, but those that may be damaged are
// nullable, and categories have an additional, unknown value. Immutable and thread-safe. Not
// movable, since batches and files refer to it.
class BrokenTable {
 public:
  // `numbers_as_text`: the output format can hold a string in place of a number.
  BrokenTable(const Table& sound, const DefectRates& rates, bool numbers_as_text);
  BrokenTable(const BrokenTable&) = delete;
  BrokenTable& operator=(const BrokenTable&) = delete;

  const Table& sound() const { return *sound_; }
  const Table& table() const { return table_; }

  // Returns the column that a defect of kind kNull or kSchema with these random bits damages.
  std::size_t ColumnOf(DefectKind kind, uint64_t bits) const;
  // Damages the value in `row`, which must be the last row that the batch (of table()) has texts
  // of.
  static void Damage(Batch& batch, std::size_t column, std::size_t row, DefectKind kind);

 private:
  const Table* sound_;
  std::vector<Column> columns_;
  std::deque<std::vector<std::string_view>> values_;  // of categories with the unknown value
  std::vector<std::size_t> may_be_null_;
  std::vector<std::size_t> may_be_wrong_;
  Table table_;
};

// Writes the rows of the answer key, which lists the injected defects. Not thread-safe.
class AnswerKey {
 public:
  struct Entry {
    std::size_t table = 0;  // of kBreakableTables
    std::string_view row_id = {};
    DefectKind kind = DefectKind::kLate;
    uint64_t position = 0;  // from 0
    uint64_t original_position = 0;
    std::string_view column = {};  // empty if no value is damaged
    std::string_view right_value = {};
  };

  // Discards the entries if `sink` is null.
  explicit AnswerKey(BatchSink* sink) : buffer_(kDefects, sink) {}
  Status Put(const Entry& entry);
  Status Flush() { return buffer_.Flush(); }

 private:
  BatchBuffer buffer_;
};

// Passes the rows of one table and block through and injects the defects of a plan. Not
// thread-safe.
class DefectInjector {
 public:
  struct Place {
    uint64_t first_row = 0;      // of the block, in the original table
    uint64_t first_written = 0;  // and in the defective one
  };

  // The arguments must outlive the injector. If `sink` is null, only the answer key is written.
  DefectInjector(const BrokenTable& table, const DefectPlan& plan, Place place, BatchSink* sink,
                 AnswerKey& key);

  // Processes a batch of table.sound(). Batches arrive in order.
  Status Put(const Batch& batch);
  // Flushes delayed rows after the last batch.
  Status End();

 private:
  // A delayed row, in a reusable batch of its own.
  struct HeldRow {
    uint64_t due = 0;  // value of `in_turn_` at which to write it
    uint64_t offset = 0;
    DefectKind kind = DefectKind::kLate;
    std::unique_ptr<Batch> row;

    bool operator>(const HeldRow& other) const {
      return due != other.due ? due > other.due : offset > other.offset;
    }
  };

  Status PutSound(const Batch& batch, std::size_t first, std::size_t count);
  Status PutBroken(const Batch& batch, std::size_t row, const Defect& defect);
  Status PutDamaged(const Batch& batch, std::size_t row, const Defect& defect);
  void HoldBack(const Batch& batch, std::size_t row, const Defect& defect);
  Status PutDueRows();
  // Returns how many rows may be written in turn before a delayed one is due.
  uint64_t RowsUntilDue() const;
  Status Append(const Batch& batch, std::size_t first, std::size_t count);
  Status RecordDefect(const Batch& batch, std::size_t row, AnswerKey::Entry entry, uint64_t offset);

  const BrokenTable* table_;
  const DefectPlan* plan_;
  Place place_;
  AnswerKey* key_;
  std::size_t table_index_;
  BatchBuffer out_;
  uint64_t offset_ = 0;        // of the next input row
  uint64_t in_turn_ = 0;       // rows written in their turn
  uint64_t written_ = 0;       // all rows
  std::vector<HeldRow> held_;  // a heap, the next one in front
  std::vector<std::unique_ptr<Batch>> spare_;
};

}  // namespace reveza::fraudgen
