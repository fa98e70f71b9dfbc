#include "datagen/check/mender.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "datagen/append_rows.h"
#include "datagen/check/cells.h"
#include "datagen/check/table_check.h"

namespace reveza::datagen::check {
namespace {

void BeginWithNulls(Batch& batch, std::size_t rows) {
  batch.Begin(rows);
  for (std::size_t i = 0; i < batch.table().columns.size(); ++i) {
    batch.column(i).present.assign(rows, 1);
  }
}

uint64_t HashOf(std::string_view id) { return std::hash<std::string_view>()(id); }

// False where the column cannot have it.
bool SetValue(const Column& column, ColumnValues& values, std::string_view text) {
  std::optional<int64_t> number;
  switch (column.type) {
    case ColumnType::kText:
      values.bytes = text;
      values.ends.assign(1, static_cast<int32_t>(text.size()));
      return true;
    case ColumnType::kCategory: {
      const auto found = std::ranges::find(column.values, text);
      if (found == column.values.end()) return false;
      values.codes[0] = static_cast<uint16_t>(found - column.values.begin());
      return true;
    }
    case ColumnType::kBoolean:
      values.flags[0] = text == "true" ? 1 : 0;
      return text == "true" || text == "false";
    case ColumnType::kInteger:
      number = ParseInteger(text);
      break;
    case ColumnType::kDecimal:
      number = ParseDecimal(text, column.decimal_places);
      break;
    case ColumnType::kDate:
      number = ParseDay(text);
      break;
    case ColumnType::kTimestamp:
      number = ParseTime(text);
      break;
  }
  if (number) values.numbers[0] = *number;
  return number.has_value();
}

}  // namespace

Mender::Mender(const Table& table, Rows rows)
    : table_(&table),
      order_of_rows_(rows),
      name_(fmt::format("{} without its defects,", table.name)),
      out_(table),
      key_(fmt::format("defects: those of {} in the answer key are there", table.name)),
      order_(fmt::format("defects: {} has no others, its rows are in order", table.name)) {
  BeginWithNulls(out_, Batch::kMaxRows);
}

void Mender::Expect(const Batch& key) {
  const Field table(key, "table_name");
  for (std::size_t row = 0; row < key.rows(); ++row) {
    if (table.Is(row, table_->name)) Add(key, row);
  }
}

void Mender::Add(const Batch& key, std::size_t row) {
  const Field column(key, "column_name");
  const Field kind(key, "kind");
  key_.Look();
  const auto found = std::ranges::find(
      table_->columns, column.Has(row) ? column.Text(row) : std::string_view(), &Column::name);
  Entry entry = {.position = static_cast<uint64_t>(Field(key, "position").Number(row)),
                 .original = static_cast<uint64_t>(Field(key, "original_position").Number(row)),
                 .id = HashOf(Field(key, "row_id").Text(row)),
                 .kind = static_cast<DefectKind>(kind.Has(row) ? kind.Code(row) : 0),
                 .column = static_cast<std::size_t>(found - table_->columns.begin()),
                 .right_value = std::string(Field(key, "right_value").Text(row))};
  const bool damaged = entry.kind == DefectKind::kNull || entry.kind == DefectKind::kSchema;
  if (damaged && found == table_->columns.end()) {
    return key_.Bad(fmt::format("position {}: there is no such column", entry.position));
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
      key_.Bad("a row has two defects");
    }
    return;
  }
  entries_.push_back(std::move(entry));
}

// A row of which the key knows is put right, or left out where it is there again.
void Mender::TakeInFolder(const std::shared_ptr<const Batch>& batch, const Position& position,
                          const Emit& emit) {
  const auto put = [&](const Batch& from, std::size_t row) {
    AppendRows(from, row, 1, out_, rows_++);
    ++released_;
    if (rows_ == Batch::kMaxRows) Send(position, emit);
  };
  for (std::size_t row = 0; row < batch->rows(); ++row) {
    const auto found = expected_.find(HashOf(batch->column(0).TextAt(row)));
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
    if (batch->IsNull(entry.column, row)) {
      put(*Repaired(entry, *batch, row), 0);
      continue;
    }
    key_.Bad(position, row,
             [&] { return fmt::format("{} is not damaged", table_->columns[entry.column].name); });
    put(*batch, row);
  }
  Send(position, emit);
}

uint64_t Mender::NextInTurn() {
  do {
    ++in_turn_;
  } while (displaced_.erase(in_turn_) > 0);
  return in_turn_;
}

void Mender::Take(const std::shared_ptr<const Batch>& batch, const Position& position,
                  const Emit& emit) {
  if (order_of_rows_ == Rows::kInFolders) return TakeInFolder(batch, position, emit);
  Run run{.batch = batch};
  uint64_t original = 0;  // of its first row
  for (std::size_t row = 0; row < batch->rows(); ++row) {
    ++position_;
    while (!entries_.empty() && entries_.front().position < position_) {
      key_.Bad(fmt::format("position {} is not behind the one before", entries_.front().position));
      entries_.pop_front();
    }
    if (!entries_.empty() && entries_.front().position == position_) {
      Keep(original, std::exchange(run, {.batch = batch}));
      Mend(entries_.front(), batch, row, position);
      entries_.pop_front();
      continue;
    }
    const uint64_t place = NextInTurn();
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

void Mender::Mend(const Entry& entry, const std::shared_ptr<const Batch>& batch, std::size_t row,
                  const Position& position) {
  const Run run{.batch = batch, .first = row, .count = 1};
  if (HashOf(batch->column(0).TextAt(row)) != entry.id) {
    key_.Bad(position, row, [&] {
      return fmt::format("{} is not the row that the key has there", batch->column(0).TextAt(row));
    });
  }
  switch (entry.kind) {
    case DefectKind::kDuplicate:
      if (entry.original > in_turn_) key_.Bad(position, row, [] { return "no duplicate"; });
      return;
    case DefectKind::kLate:
    case DefectKind::kOutOfOrder:
      if (entry.original >= in_turn_) {
        key_.Bad(position, row, [] { return "not behind its place"; });
      }
      return Keep(entry.original, run);
    case DefectKind::kNull:
    case DefectKind::kSchema:
      break;
  }
  const uint64_t original = NextInTurn();
  if (!batch->IsNull(entry.column, row)) {
    key_.Bad(position, row,
             [&] { return fmt::format("{} is not damaged", table_->columns[entry.column].name); });
    return Keep(original, run);
  }
  Keep(original, {.batch = Repaired(entry, *batch, row), .first = 0, .count = 1});
}

std::shared_ptr<const Batch> Mender::Repaired(const Entry& entry, const Batch& batch,
                                              std::size_t row) {
  auto repaired = std::make_shared<Batch>(*table_);
  BeginWithNulls(*repaired, 1);
  AppendRows(batch, row, 1, *repaired, 0);
  ColumnValues& values = repaired->column(entry.column);
  if (SetValue(table_->columns[entry.column], values, entry.right_value)) {
    values.present[0] = 1;
  } else {
    key_.Bad(fmt::format("position {}: {} cannot be '{}'", entry.position,
                         table_->columns[entry.column].name, entry.right_value));
  }
  return repaired;
}

void Mender::Keep(uint64_t original, Run run) {
  if (run.count == 0) return;
  if (!kept_.emplace(original, std::move(run)).second) {
    key_.Bad(fmt::format("two rows for the original position {}", original));
  }
}

void Mender::Release(const Position& position, const Emit& emit) {
  while (!kept_.empty() && kept_.begin()->first <= released_ + 1) {
    const Run run = std::move(kept_.begin()->second);
    kept_.erase(kept_.begin());
    for (std::size_t row = 0; order_of_rows_ == Rows::kNumbered && row < run.count; ++row) {
      const uint64_t number = NumberOf(run.batch->column(0).TextAt(run.first + row));
      order_.Look();
      if (number < std::exchange(last_number_, number)) {
        order_.Bad({.file = name_, .block = position.block, .first_row = released_}, row,
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

void Mender::Send(const Position& position, const Emit& emit) {
  if (rows_ == 0) return;
  const std::size_t rows = std::exchange(rows_, 0);
  out_.Shorten(rows);
  emit(out_, {.file = name_, .block = position.block, .first_row = released_ - rows});
  BeginWithNulls(out_, Batch::kMaxRows);
}

void Mender::EndBlock(const Position& position, const Emit& emit) {
  if (order_of_rows_ == Rows::kInFolders) return;  // those that never come are reported
  while (!kept_.empty()) {
    key_.Bad(fmt::format("no row for the original position {}", released_ + 1));
    released_ = kept_.begin()->first - 1;
    Release(position, emit);
  }
}

void Mender::Report(std::vector<Outcome>& outcomes) const {
  Tally all = key_;
  for (const Entry& entry : entries_) {
    all.Bad(fmt::format("there is no position {}", entry.position));
  }
  for (const auto& [id, entry] : expected_) {
    all.Bad(fmt::format("the row of position {} is not there{}", entry.position,
                        entry.seen ? " twice" : ""));
  }
  outcomes.push_back(all.outcome());
  if (order_of_rows_ == Rows::kNumbered) outcomes.push_back(order_.outcome());
}

}  // namespace reveza::datagen::check
