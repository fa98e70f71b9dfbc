#include "datagen/defects/defective_model.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "datagen/defects/spoiler.h"
#include "datagen/random.h"

namespace reveza::datagen {
namespace {

bool IsIn(std::span<const Table* const> tables, const Table* table) {
  return std::ranges::find(tables, table) != tables.end();
}

}  // namespace

// Sends the rows of each table its way.
class DefectiveModel::Sorter final : public BatchSink {
 public:
  Sorter(const DefectiveModel& model, uint64_t block, std::span<const Table* const> wanted,
         BatchSink& sink)
      : sink_(sink), key_(IsIn(wanted, &kDefects) ? &sink : nullptr) {
    for (const Broken& broken : model.broken_) {
      const bool rows = IsIn(wanted, &broken.table->table());
      if (!rows && !IsIn(wanted, &kDefects)) continue;
      Way& way = ways_.emplace_back(Way{.sound = &broken.table->sound(),
                                        .plan = model.PlanOf(broken, block),
                                        .spoiler = nullptr});
      way.spoiler =
          std::make_unique<Spoiler>(*broken.table, way.plan,
                                    Spoiler::Place{.first_row = broken.first_row[block],
                                                   .first_written = broken.first_written[block]},
                                    rows ? &sink : nullptr, key_);
    }
    for (const Table* table : model.sound_->tables()) {
      const bool broken = std::ranges::find(ways_, table, &Way::sound) != ways_.end();
      if (broken || IsIn(wanted, table)) wanted_.push_back(table);
    }
  }

  std::span<const Table* const> wanted() const { return wanted_; }

  Status Put(const Batch& batch) override {
    const auto way = std::ranges::find(ways_, &batch.table(), &Way::sound);
    return way == ways_.end() ? sink_.Put(batch) : way->spoiler->Put(batch);
  }

  Status End() {
    for (Way& way : ways_) {
      if (auto ended = way.spoiler->End(); !ended) return ended;
    }
    return key_.Flush();
  }

 private:
  struct Way {
    const Table* sound;
    DefectPlan plan;
    std::unique_ptr<Spoiler> spoiler;
  };
  BatchSink& sink_;
  AnswerKey key_;
  std::deque<Way> ways_;
  std::vector<const Table*> wanted_;
};

DefectiveModel::DefectiveModel(std::unique_ptr<Model> sound, const DefectOptions& options)
    : sound_(std::move(sound)), options_(options) {
  for (const Table* table : sound_->tables()) {
    if (std::ranges::find(kBreakableTables, table->name) == kBreakableTables.end()) {
      tables_.push_back(table);
      continue;
    }
    Broken& broken = broken_.emplace_back();
    broken.table = std::make_unique<BrokenTable>(*table, options.rates, options.numbers_as_text);
    broken.key = DefectKey(options.seed, table->name);
    uint64_t row = 0;
    uint64_t written = 0;
    for (uint64_t block = 0; block < sound_->blocks(); ++block) {
      broken.first_row.push_back(row);
      broken.first_written.push_back(written);
      row += sound_->RowsOf(*table, block);
      written += RowsOf(broken.table->table(), block);
    }
    tables_.push_back(&broken.table->table());
  }
  tables_.push_back(&kDefects);
}

DefectPlan DefectiveModel::PlanOf(const Broken& broken, uint64_t block) const {
  return {broken.key, options_.rates, broken.first_row[block],
          sound_->RowsOf(broken.table->sound(), block)};
}

uint64_t DefectiveModel::RowsOf(const Table& table, uint64_t block) const {
  uint64_t defects = 0;
  for (const Broken& broken : broken_) {
    if (&table == &kDefects) defects += PlanOf(broken, block).count();
    if (&table != &broken.table->table()) continue;
    return sound_->RowsOf(broken.table->sound(), block) +
           PlanOf(broken, block).Count(DefectKind::kDuplicate);
  }
  return &table == &kDefects ? defects : sound_->RowsOf(table, block);
}

uint64_t DefectiveModel::MostLate(const Table& table) const {
  const auto broken = std::ranges::find_if(
      broken_, [&](const Broken& each) { return &each.table->table() == &table; });
  return broken == broken_.end() || !IsInOrder() ? 0 : DefectPlan::MostLate(options_.rates);
}

Status DefectiveModel::Make(uint64_t block, std::span<const Table* const> wanted,
                            BatchSink& sink) const {
  Sorter sorter(*this, block, wanted, sink);
  if (auto made = sound_->Make(block, sorter.wanted(), sorter); !made) return made;
  return sorter.End();
}

}  // namespace reveza::datagen
