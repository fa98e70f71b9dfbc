// Undoes what `--defects` did to the rows of a table, by the answer key beside them, so that all
// other checks look at sound rows: what is broken but not in the key they find, and what is in the
// key but not broken is found here. Not safe from several threads.
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

#include "datagen/batch.h"
#include "datagen/check/outcome.h"
#include "datagen/schema_defects.h"

namespace reveza::datagen::check {

class Mender {
 public:
  using Emit = std::function<void(const Batch&, const Position&)>;

  enum class Rows {
    kNumbered,   // one after the other over all files; the identifiers of the sound rows ascend
    kOrdered,    // one after the other
    kInFolders,  // in no order that the key knows: what it has is found by the identifiers
  };

  Mender(const Table& table, Rows rows);

  // Rows of kDefects, in the order of their files. Those of a block come before its rows.
  void Expect(const Batch& key);
  // The next rows of the table, with room for nulls in every column. Those whose turn it is are
  // emitted.
  void Take(const std::shared_ptr<const Batch>& batch, const Position& position, const Emit& emit);
  // After the last row of a block, which stood at `position`.
  void EndBlock(const Position& position, const Emit& emit);

  // Nulls, unknown categories and texts for numbers that the key has.
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
    bool seen = false;  // in folders: the first of two equal rows has come
  };
  // Rows that stand side by side, in the broken table and in the sound one.
  struct Run {
    std::shared_ptr<const Batch> batch;
    std::size_t first = 0;
    std::size_t count = 0;
  };

  void Add(const Batch& key, std::size_t row);
  void TakeInFolder(const std::shared_ptr<const Batch>& batch, const Position& position,
                    const Emit& emit);
  // What is to be done with a row that is in the key.
  void Mend(const Entry& entry, const std::shared_ptr<const Batch>& batch, std::size_t row,
            const Position& position);
  std::shared_ptr<const Batch> Repaired(const Entry& entry, const Batch& batch, std::size_t row);
  uint64_t NextInTurn();
  void Keep(uint64_t original, Run run);
  void Release(const Position& position, const Emit& emit);
  void Send(const Position& position, const Emit& emit);

  const Table* table_;
  Rows order_of_rows_;
  std::string name_;  // as what positions call the rows
  std::deque<Entry> entries_;
  std::unordered_map<uint64_t, Entry> expected_;  // in folders, by the identifier
  std::set<uint64_t> displaced_;                  // original positions of rows that come later
  std::map<uint64_t, Run> kept_;                  // by the original position of their first row
  Batch out_;
  std::size_t rows_ = 0;      // in `out_`
  uint64_t position_ = 0;     // of the last row that came
  uint64_t in_turn_ = 0;      // original position of the last one that stood in its place
  uint64_t released_ = 0;     // so many rows went on
  uint64_t last_number_ = 0;  // of their identifiers
  uint64_t nulls_ = 0;
  uint64_t categories_ = 0;
  uint64_t texts_ = 0;
  Tally key_;
  Tally order_;
};

}  // namespace reveza::datagen::check
