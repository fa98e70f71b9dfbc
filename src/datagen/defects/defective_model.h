// Another model's rows, broken on purpose as a pipeline's tests want them, and the answer key.
// Which row is broken and how is a function of the seed and the row. Immutable, so safe from any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "datagen/defects/broken_table.h"
#include "datagen/defects/defect_plan.h"
#include "datagen/defects/defect_rates.h"
#include "datagen/model.h"

namespace reveza::datagen {

class DefectiveModel final : public Model {
 public:
  DefectiveModel(std::unique_ptr<Model> sound, const DefectOptions& options);

  std::span<const Table* const> tables() const override { return tables_; }
  uint64_t blocks() const override { return sound_->blocks(); }
  // Duplicates are rows more.
  uint64_t RowsOf(const Table& table, uint64_t block) const override;
  Status Make(uint64_t block, std::span<const Table* const> wanted, BatchSink& sink) const override;
  bool IsInOrder() const override { return sound_->IsInOrder(); }
  uint64_t MostLate(const Table& table) const override;

 private:
  // A table that is broken, and its rows before each block.
  struct Broken {
    std::unique_ptr<BrokenTable> table;
    uint64_t key = 0;
    std::vector<uint64_t> first_row;
    std::vector<uint64_t> first_written;
  };
  class Sorter;

  DefectPlan PlanOf(const Broken& broken, uint64_t block) const;

  std::unique_ptr<Model> sound_;
  DefectOptions options_;
  std::vector<Broken> broken_;
  std::vector<const Table*> tables_;
};

}  // namespace reveza::datagen
