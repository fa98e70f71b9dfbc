// Wraps a model and injects defects into its rows, for testing pipelines, with an answer key. The
// defect of a row is a function of the seed and the row. Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "fraudgen/model/defects/defect_injector.h"
#include "fraudgen/model/defects/defect_plan.h"
#include "fraudgen/model/model.h"

namespace reveza::fraudgen {

// The defects of a table, by block or by row, so that writers which do not write block by block
// yield the same defects as files. Immutable and thread-safe; not movable.
class RowDefects {
 public:
  // `table` is a table of `sound` named in kBreakableTables.
  RowDefects(const Model& sound, const Table& table, const DefectOptions& options);

  const BrokenTable& table() const { return table_; }
  // The number of a block's first row in the table, from 0; FirstWritten() counts duplicates.
  uint64_t FirstRow(uint64_t block) const { return blocks_[block].first_row; }
  uint64_t FirstWritten(uint64_t block) const { return blocks_[block].first_written; }
  const DefectPlan& PlanOf(uint64_t block) const { return blocks_[block].plan; }
  // The number of duplicated rows.
  uint64_t duplicates() const { return duplicates_; }

  // Returns the defect of a row, by its number in the table.
  std::optional<Defect> At(uint64_t row) const;

 private:
  struct OfBlock {
    uint64_t first_row;
    uint64_t first_written;
    DefectPlan plan;
  };

  BrokenTable table_;
  std::vector<OfBlock> blocks_;
  uint64_t duplicates_ = 0;
};

class DefectiveModel final : public Model {
 public:
  DefectiveModel(std::unique_ptr<Model> sound, const DefectOptions& options);

  std::span<const Table* const> tables() const override { return tables_; }
  uint64_t blocks() const override { return sound_->blocks(); }
  // Includes duplicates.
  uint64_t RowsOf(const Table& table, uint64_t block) const override;
  Status Make(uint64_t block, std::span<const Table* const> wanted, BatchSink& sink) const override;
  bool IsSmall(const Table& table) const override;
  bool IsInOrder() const override { return sound_->IsInOrder(); }
  uint64_t MaxLateRows(const Table& table) const override;

 private:
  class Router;

  std::unique_ptr<Model> sound_;
  uint64_t max_late_rows_;
  std::vector<std::unique_ptr<RowDefects>> broken_;
  std::vector<const Table*> tables_;
};

}  // namespace reveza::fraudgen
