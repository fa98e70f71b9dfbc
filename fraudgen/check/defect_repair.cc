#include "fraudgen/check/defect_repair.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "fraudgen/check/table_check.h"
#include "fraudgen/check/text_rows.h"
#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen::check {
namespace {

void BeginWithNulls(Batch& batch, std::size_t rows) {
  batch.Begin(rows);
  for (std::size_t i = 0; i < batch.table().columns.size(); ++i) {
    batch.column(i).present.assign(rows, 1);
  }
}

uint64_t HashOfId(std::string_view id) { return std::hash<std::string_view>()(id); }

}  // namespace

DefectRepair::DefectRepair(const Table& table, Rows rows)
    : table_(&table),
      order_of_rows_(rows),
      name_(fmt::format("repaired {},", table.name)),
      out_(table),
      key_(fmt::format("defects: {} has the defects of the answer key", table.name)),
      order_(fmt::format("defects: {} has no other displaced rows", table.name)) {
  BeginWithNulls(out_, Batch::kMaxRows);
}

void DefectRepair::Expect(const Batch& key) {
  const Field table(key, "table_name");
  for (std::size_t row = 0; row < key.rows(); ++row) {
    if (table.Is(row, table_->name)) Add(key, row);
  }
}

void DefectRepair::Add(const Batch& key, std::size_t row) {
  const Field column(key, "column_name");
  const Field kind(key, "kind");
  key_.AddChecked();
  const auto found = std::ranges::find(
      table_->columns, column.Has(row) ? column.Text(row) : std::string_view(), &Column::name);
  Entry entry = {.position = static_cast<uint64_t>(Field(key, "position").Number(row)),
                 .original = static_cast<uint64_t>(Field(key, "original_position").Number(row)),
                 .id = HashOfId(Field(key, "row_id").Text(row)),
                 .kind = static_cast<DefectKind>(kind.Has(row) ? kind.Code(row) : 0),
                 .column = static_cast<std::size_t>(found - table_->columns.begin()),
                 .right_value = std::string(Field(key, "right_value").Text(row))};
  const bool damaged = entry.kind == DefectKind::kNull || entry.kind == DefectKind::kSchema;
  if (damaged && found == table_->columns.end()) {
    return key_.AddFailure("position {}: unknown column", entry.position);
  }
  if (entry.kind == DefectKind::kNull) ++nulls_;
  if (entry.kind == DefectKind::kSchema) {
    ++(found->type == ColumnType::kCategory ? categories_ : texts_);
  }
  const bool displaced = entry.kind == DefectKind::kLate || entry.kind == DefectKind::kOutOfOrder;
  if (displaced && order_of_rows_ != Rows::kInFolders) {
    displaced_.insert(entry.original);
  }
  if (order_of_rows_ == Rows::kInFolders) {
    const uint64_t id = entry.id;
    if (!expected_.emplace(id, std::move(entry)).second) {
      key_.AddFailure("a row has two defects");
    }
    return;
  }
  entries_.push_back(std::move(entry));
}

// Rows in the key are repaired, or dropped if they are duplicates.
void DefectRepair::TakeInFolder(const std::shared_ptr<const Batch>& batch, const Position& position,
                                const Emit& emit) {
  const auto put = [&](const Batch& from, std::size_t row) {
    AppendRows(from, row, 1, out_, rows_++);
    ++released_;
    if (rows_ == Batch::kMaxRows) Send(position, emit);
  };
  for (std::size_t row = 0; row < batch->rows(); ++row) {
    const auto found = expected_.find(HashOfId(batch->column(0).TextAt(row)));
    if (found == expected_.end()) {
      put(*batch, row);
      continue;
    }
    const Entry entry = found->second;
    if (entry.kind == DefectKind::kDuplicate && !found->second.seen) {
      found->second.seen = true;
      put(*batch, row);
      continue;
    }
    expected_.erase(found);
    switch (entry.kind) {
      case DefectKind::kDuplicate:
        continue;
      case DefectKind::kLate:
      case DefectKind::kOutOfOrder:
        put(*batch, row);
        continue;
      case DefectKind::kNull:
      case DefectKind::kSchema:
        break;
    }
    const auto repaired = Repaired(entry, *batch, row, position);
    repaired ? put(*repaired, 0) : put(*batch, row);
  }
  Send(position, emit);
}

uint64_t DefectRepair::NextOriginal() {
  do {
    ++last_original_;
  } while (displaced_.erase(last_original_) > 0);
  return last_original_;
}

void DefectRepair::Take(const std::shared_ptr<const Batch>& batch, const Position& position,
                        const Emit& emit) {
  if (order_of_rows_ == Rows::kInFolders) return TakeInFolder(batch, position, emit);
  Run run{.batch = batch};
  uint64_t original = 0;  // of its first row
  for (std::size_t row = 0; row < batch->rows(); ++row) {
    ++position_;
    while (!entries_.empty() && entries_.front().position < position_) {
      key_.AddFailure("position {} is not in ascending order", entries_.front().position);
      entries_.pop_front();
    }
    if (!entries_.empty() && entries_.front().position == position_) {
      Keep(original, std::exchange(run, {.batch = batch}));
      Repair(entries_.front(), batch, row, position);
      entries_.pop_front();
      continue;
    }
    const uint64_t place = NextOriginal();
    if (run.count > 0 && place != original + run.count) {
      Keep(original, std::exchange(run, {.batch = batch}));
    }
    if (run.count++ > 0) continue;
    run.first = row;
    original = place;
  }
  Keep(original, std::move(run));
  Release(position, emit);
}

void DefectRepair::Repair(const Entry& entry, const std::shared_ptr<const Batch>& batch,
                          std::size_t row, const Position& position) {
  const Run run{.batch = batch, .first = row, .count = 1};
  if (HashOfId(batch->column(0).TextAt(row)) != entry.id) {
    key_.AddFailure(position, row, [&] {
      return fmt::format("{} is not the row in the key", batch->column(0).TextAt(row));
    });
  }
  switch (entry.kind) {
    case DefectKind::kDuplicate:
      if (entry.original > last_original_)
        key_.AddFailure(position, row, [] { return "not a duplicate"; });
      return;
    case DefectKind::kLate:
    case DefectKind::kOutOfOrder:
      if (entry.original >= last_original_) {
        key_.AddFailure(position, row, [] { return "not displaced"; });
      }
      return Keep(entry.original, run);
    case DefectKind::kNull:
    case DefectKind::kSchema:
      break;
  }
  const uint64_t original = NextOriginal();
  const auto repaired = Repaired(entry, *batch, row, position);
  Keep(original, repaired ? Run{.batch = repaired, .first = 0, .count = 1} : run);
}

std::shared_ptr<const Batch> DefectRepair::Repaired(const Entry& entry, const Batch& batch,
                                                    std::size_t row, const Position& position) {
  const Column& column = table_->columns[entry.column];
  if (!batch.IsNull(entry.column, row)) {
    key_.AddFailure(position, row, [&] { return fmt::format("{} has no defect", column.name); });
    return nullptr;
  }
  auto repaired = std::make_shared<Batch>(*table_);
  BeginWithNulls(*repaired, 1);
  AppendRows(batch, row, 1, *repaired, 0);
  ColumnValues& values = repaired->column(entry.column);
  if (column.type == ColumnType::kText) values.ends.clear();  // replaces the empty text of the null
  if (SetValue(column, CodesOf(column), entry.right_value, 0, values)) {
    values.present[0] = 1;
  } else {
    key_.AddFailure("position {}: '{}' is invalid for {}", entry.position, entry.right_value,
                    column.name);
  }
  return repaired;
}

void DefectRepair::Keep(uint64_t original, Run run) {
  if (run.count == 0) return;
  if (!kept_.emplace(original, std::move(run)).second) {
    key_.AddFailure("two rows for the original position {}", original);
  }
}

void DefectRepair::Release(const Position& position, const Emit& emit) {
  while (!kept_.empty() && kept_.begin()->first <= released_ + 1) {
    const Run run = std::move(kept_.begin()->second);
    kept_.erase(kept_.begin());
    for (std::size_t row = 0; order_of_rows_ == Rows::kNumbered && row < run.count; ++row) {
      const uint64_t number = NumberOf(run.batch->column(0).TextAt(run.first + row));
      order_.AddChecked();
      if (number < std::exchange(last_number_, number)) {
        order_.AddFailure(
            {.file = name_, .block = position.block, .first_row = released_}, row,
            [&] { return std::string(run.batch->column(0).TextAt(run.first + row)); });
      }
    }
    for (std::size_t done = 0; done < run.count;) {
      const std::size_t now = std::min(run.count - done, Batch::kMaxRows - rows_);
      AppendRows(*run.batch, run.first + done, now, out_, rows_);
      rows_ += now;
      done += now;
      released_ += now;
      if (rows_ == Batch::kMaxRows) Send(position, emit);
    }
  }
  Send(position, emit);
}

void DefectRepair::Send(const Position& position, const Emit& emit) {
  if (rows_ == 0) return;
  const std::size_t rows = std::exchange(rows_, 0);
  out_.Shorten(rows);
  emit(out_, {.file = name_, .block = position.block, .first_row = released_ - rows});
  BeginWithNulls(out_, Batch::kMaxRows);
}

void DefectRepair::EndBlock(const Position& position, const Emit& emit) {
  if (order_of_rows_ == Rows::kInFolders) return;  // Report() reports missing rows
  while (!kept_.empty()) {
    key_.AddFailure("no row for the original position {}", released_ + 1);
    released_ = kept_.begin()->first - 1;
    Release(position, emit);
  }
}

void DefectRepair::Report(std::vector<Outcome>& outcomes) const {
  Tally all = key_;
  for (const Entry& entry : entries_) {
    all.AddFailure("position {} does not exist", entry.position);
  }
  for (const auto& [id, entry] : expected_) {
    all.AddFailure("the row of position {} is missing{}", entry.position,
                   entry.seen ? " its duplicate" : "");
  }
  outcomes.push_back(all.outcome());
  if (order_of_rows_ == Rows::kNumbered) outcomes.push_back(order_.outcome());
}

}  // namespace reveza::fraudgen::check
