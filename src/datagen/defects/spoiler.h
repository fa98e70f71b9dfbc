// Lets the rows of one table and block go by and breaks those that a plan names, writing down what
// it did. Not safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "datagen/batch.h"
#include "datagen/defects/answer_key.h"
#include "datagen/defects/broken_table.h"
#include "datagen/defects/defect_plan.h"
#include "datagen/model.h"

namespace reveza::datagen {

class Spoiler {
 public:
  struct Place {
    uint64_t first_row = 0;      // of the block, in the sound table
    uint64_t first_written = 0;  // and in the broken one
  };

  // All must outlive it. `sink` null: only the answer key is wanted.
  Spoiler(const BrokenTable& table, const DefectPlan& plan, Place place, BatchSink* sink,
          AnswerKey& key);

  // A batch of table.sound(), in order.
  Status Put(const Batch& batch);
  // After the last one.
  Status End();

 private:
  // A row that is written later, alone in a batch, which is used again.
  struct Waiting {
    uint64_t due = 0;  // when so many rows have been written in their turn
    uint64_t offset = 0;
    DefectKind kind = DefectKind::kLate;
    std::unique_ptr<Batch> row;

    bool operator>(const Waiting& other) const {
      return due != other.due ? due > other.due : offset > other.offset;
    }
  };

  Status PutSound(const Batch& batch, std::size_t first, std::size_t count);
  Status PutBroken(const Batch& batch, std::size_t row, const Defect& defect);
  Status PutDamaged(const Batch& batch, std::size_t row, const Defect& defect);
  void HoldBack(const Batch& batch, std::size_t row, const Defect& defect);
  Status PutWaiting();
  // Where nothing waits any more: so many rows may be written in their turn.
  uint64_t TurnsUntilDue() const;
  Status Append(const Batch& batch, std::size_t first, std::size_t count);
  Status Note(const Batch& batch, std::size_t row, AnswerKey::Entry entry, uint64_t offset);
  Status Flush();

  const BrokenTable* table_;
  const DefectPlan* plan_;
  Place place_;
  BatchSink* sink_;
  AnswerKey* key_;
  std::size_t table_index_;
  Batch out_;
  std::size_t rows_ = 0;          // in `out_`
  uint64_t offset_ = 0;           // of the next row that comes
  uint64_t turns_ = 0;            // rows written in their turn
  uint64_t written_ = 0;          // all rows
  std::vector<Waiting> waiting_;  // a heap, the next one in front
  std::vector<std::unique_ptr<Batch>> spare_;
};

}  // namespace reveza::datagen
