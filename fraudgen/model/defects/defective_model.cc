#include "fraudgen/model/defects/defective_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "fraudgen/model/defects/defect_injector.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen {

// Routes the rows of each table to its injector, or directly to the sink.
class DefectiveModel::Router final : public BatchSink {
 public:
  Router(const DefectiveModel& model, uint64_t block, std::span<const Table* const> wanted,
         BatchSink& sink)
      : sink_(sink), key_(IsIn(wanted, kDefects) ? &sink : nullptr) {
    for (const auto& broken : model.broken_) {
      const bool rows = IsIn(wanted, broken->table().table());
      if (!rows && !IsIn(wanted, kDefects)) continue;
      routes_.push_back({.sound = &broken->table().sound(),
                         .injector = std::make_unique<DefectInjector>(
                             broken->table(), broken->PlanOf(block),
                             DefectInjector::Place{.first_row = broken->FirstRow(block),
                                                   .first_written = broken->FirstWritten(block)},
                             rows ? &sink : nullptr, key_)});
    }
    for (const Table* table : model.sound_->tables()) {
      const bool broken = std::ranges::find(routes_, table, &Route::sound) != routes_.end();
      if (broken || IsIn(wanted, *table)) wanted_.push_back(table);
    }
  }

  std::span<const Table* const> wanted() const { return wanted_; }

  Status Put(const Batch& batch) override {
    const auto route = std::ranges::find(routes_, &batch.table(), &Route::sound);
    return route == routes_.end() ? sink_.Put(batch) : route->injector->Put(batch);
  }

  Status End() {
    for (Route& route : routes_) {
      RETURN_IF_ERROR(route.injector->End());
    }
    return key_.Flush();
  }

 private:
  struct Route {
    const Table* sound;
    std::unique_ptr<DefectInjector> injector;
  };
  BatchSink& sink_;
  AnswerKey key_;
  std::vector<Route> routes_;
  std::vector<const Table*> wanted_;
};

DefectiveModel::DefectiveModel(std::unique_ptr<Model> sound, const DefectOptions& options)
    : sound_(std::move(sound)), max_late_rows_(DefectPlan::MaxLateRows(options.rates)) {
  for (const Table* table : sound_->tables()) {
    if (std::ranges::find(kBreakableTables, table->name) != kBreakableTables.end()) {
      broken_.push_back(std::make_unique<RowDefects>(*sound_, *table, options));
      table = &broken_.back()->table().table();
    }
    tables_.push_back(table);
  }
  tables_.push_back(&kDefects);
}

uint64_t DefectiveModel::RowsOf(const Table& table, uint64_t block) const {
  uint64_t defects = 0;
  for (const auto& broken : broken_) {
    const DefectPlan& plan = broken->PlanOf(block);
    defects += plan.count();
    if (&table != &broken->table().table()) continue;
    return sound_->RowsOf(broken->table().sound(), block) + plan.Count(DefectKind::kDuplicate);
  }
  return &table == &kDefects ? defects : sound_->RowsOf(table, block);
}

bool DefectiveModel::IsSmall(const Table& table) const {
  const bool broken = std::ranges::any_of(
      broken_, [&](const auto& each) { return &each->table().table() == &table; });
  return !broken && &table != &kDefects && sound_->IsSmall(table);
}

uint64_t DefectiveModel::MaxLateRows(const Table& table) const {
  const bool broken = std::ranges::any_of(
      broken_, [&](const auto& each) { return &each->table().table() == &table; });
  return broken && IsInOrder() ? max_late_rows_ : 0;
}

Status DefectiveModel::Make(uint64_t block, std::span<const Table* const> wanted,
                            BatchSink& sink) const {
  Router sorter(*this, block, wanted, sink);
  RETURN_IF_ERROR(sound_->Make(block, sorter.wanted(), sorter));
  return sorter.End();
}

RowDefects::RowDefects(const Model& sound, const Table& table, const DefectOptions& options)
    : table_(table, options.rates, options.numbers_as_text) {
  const uint64_t key = DefectKey(options.seed, table.name);
  uint64_t row = 0;
  for (uint64_t block = 0; block < sound.blocks(); ++block) {
    const uint64_t rows = sound.RowsOf(table, block);
    blocks_.push_back({.first_row = row,
                       .first_written = row + duplicates_,
                       .plan = DefectPlan(key, options.rates, row, rows)});
    duplicates_ += blocks_.back().plan.Count(DefectKind::kDuplicate);
    row += rows;
  }
}

std::optional<Defect> RowDefects::At(uint64_t row) const {
  // The last block that begins at or before `row`, which skips empty blocks.
  const auto after = std::ranges::upper_bound(blocks_, row, {}, &OfBlock::first_row);
  const OfBlock& block = *std::prev(after);
  return block.plan.At(row - block.first_row);
}

}  // namespace reveza::fraudgen
