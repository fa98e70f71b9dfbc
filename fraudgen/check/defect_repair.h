// Undoes the defects that --defects injected into a table, using the answer key, so that all other
// checks see sound rows: they find defects that are not in the key; entries of the key without a
// defect are found here. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "fraudgen/check/outcome.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema_derived.h"

namespace reveza::fraudgen::check {

class DefectRepair {
 public:
  using Emit = std::function<void(const Batch&, const Position&)>;

  enum class Rows {
    kNumbered,   // in order over all files; identifiers ascend
    kOrdered,    // in order
    kInFolders,  // partitioned; rows of the key are found by identifier
  };

  DefectRepair(const Table& table, Rows rows);

  // Adds rows of the answer key. Those of a block must come before its rows.
  void Expect(const Batch& key);
  // Adds the next rows of the table, and emits repaired rows in their original order.
  void Take(const std::shared_ptr<const Batch>& batch, const Position& position, const Emit& emit);
  // Called after the last row of a block.
  void EndBlock(const Position& position, const Emit& emit);

  // Defects in the key: nulls, unknown categories, and text in numeric columns.
  uint64_t nulls() const { return nulls_; }
  uint64_t categories() const { return categories_; }
  uint64_t texts() const { return texts_; }
  void Report(std::vector<Outcome>& outcomes) const;

 private:
  struct Entry {
    uint64_t position = 0;
    uint64_t original = 0;
    uint64_t id = 0;
    DefectKind kind = DefectKind::kLate;
    std::size_t column = 0;
    std::string right_value;
    bool seen = false;  // kInFolders: the first of two equal rows was read
  };
  // Consecutive rows, both in the file and in the original table.
  struct Run {
    std::shared_ptr<const Batch> batch;
    std::size_t first = 0;
    std::size_t count = 0;
  };

  void Add(const Batch& key, std::size_t row);
  void TakeInFolder(const std::shared_ptr<const Batch>& batch, const Position& position,
                    const Emit& emit);
  // Handles a row that is in the key.
  void Repair(const Entry& entry, const std::shared_ptr<const Batch>& batch, std::size_t row,
              const Position& position);
  // Returns null after reporting that the row has no defect.
  std::shared_ptr<const Batch> Repaired(const Entry& entry, const Batch& batch, std::size_t row,
                                        const Position& position);
  uint64_t NextOriginal();
  void Keep(uint64_t original, Run run);
  void Release(const Position& position, const Emit& emit);
  void Send(const Position& position, const Emit& emit);

  const Table* table_;
  Rows order_of_rows_;
  std::string name_;  // file name in positions
  std::deque<Entry> entries_;
  std::unordered_map<uint64_t, Entry> expected_;  // kInFolders, by identifier
  std::set<uint64_t> displaced_;                  // original positions of displaced rows
  std::map<uint64_t, Run> kept_;                  // by original position of the first row
  Batch out_;
  std::size_t rows_ = 0;        // in `out_`
  uint64_t position_ = 0;       // of the last row read
  uint64_t last_original_ = 0;  // original position of the last row in order
  uint64_t released_ = 0;       // rows emitted
  uint64_t last_number_ = 0;    // in the identifiers
  uint64_t nulls_ = 0;
  uint64_t categories_ = 0;
  uint64_t texts_ = 0;
  Tally key_;
  Tally order_;
};

}  // namespace reveza::fraudgen::check
