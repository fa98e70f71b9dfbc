#include "fraudgen/model/defects/defect_injector.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

#include "fraudgen/schema/batch.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen {
namespace {

// The answer key refers to rows by their first column, the timestamp orders them, and labels are
// not part of the source data: none of these is damaged.
bool MayBeDamaged(const Table& table, const Column& column) {
  return column.nullable == Nullable::kNo && &column != table.columns.data() &&
         column.name != "timestamp" && column.name != "is_fraud" &&
         !column.name.starts_with("fraud_");
}

}  // namespace

BrokenTable::BrokenTable(const Table& sound, const DefectRates& rates, bool numbers_as_text)
    : sound_(&sound), columns_(sound.columns.begin(), sound.columns.end()), table_(sound) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& was = sound.columns[i];
    Column& column = columns_[i];
    if (!MayBeDamaged(sound, was)) continue;
    if (rates.Of(DefectKind::kNull).billionths > 0) {
      column.nullable = Nullable::kYes;
      may_be_null_.push_back(i);
    }
    if (rates.Of(DefectKind::kSchema).billionths == 0) continue;
    if (was.type == ColumnType::kCategory) {
      auto& values = values_.emplace_back(was.values.begin(), was.values.end());
      values.push_back(kUnknownValue);
      column.values = values;
      may_be_wrong_.push_back(i);
    } else if (was.type == ColumnType::kDecimal && numbers_as_text) {
      column.nullable = Nullable::kYes;
      may_be_wrong_.push_back(i);
    }
  }
  table_.columns = columns_;
}

std::size_t BrokenTable::ColumnOf(DefectKind kind, uint64_t bits) const {
  const auto& columns = kind == DefectKind::kNull ? may_be_null_ : may_be_wrong_;
  assert(!columns.empty());
  return columns[UpperProduct(bits, columns.size())];
}

void BrokenTable::Damage(Batch& batch, std::size_t column, std::size_t row, DefectKind kind) {
  ColumnValues& values = batch.column(column);
  const Column& what = batch.table().columns[column];
  if (kind == DefectKind::kSchema) {
    if (what.type == ColumnType::kCategory) {
      values.codes[row] = static_cast<uint16_t>(what.values.size() - 1);
    } else {
      values.present[row] = ColumnValues::kAsText;
    }
    return;
  }
  values.present[row] = 0;
  if (what.type != ColumnType::kText) return;
  assert(values.ends.size() == row + 1);
  values.ends[row] = row == 0 ? 0 : values.ends[row - 1];
  values.bytes.resize(static_cast<std::size_t>(values.ends[row]));
}

namespace {

std::size_t IndexOf(const Table& table) {
  const auto found = std::ranges::find(kBreakableTables, table.name);
  return static_cast<std::size_t>(found - kBreakableTables.begin());
}

}  // namespace

DefectInjector::DefectInjector(const BrokenTable& table, const DefectPlan& plan, Place place,
                               BatchSink* sink, AnswerKey& key)
    : table_(&table),
      plan_(&plan),
      place_(place),
      key_(&key),
      table_index_(IndexOf(table.sound())),
      out_(table.table(), sink) {}

Status DefectInjector::Put(const Batch& batch) {
  std::size_t sound = 0;  // start of the pending run of intact rows
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const auto defect = plan_->At(offset_ + (row - sound));
    if (!defect) continue;
    RETURN_IF_ERROR(PutSound(batch, sound, row - sound));
    RETURN_IF_ERROR(PutBroken(batch, row, *defect));
    sound = row + 1;
  }
  return PutSound(batch, sound, batch.rows() - sound);
}

// Interleaves delayed rows that become due.
Status DefectInjector::PutSound(const Batch& batch, std::size_t first, std::size_t count) {
  offset_ += count;
  while (count > 0) {
    const auto now = static_cast<std::size_t>(std::min<uint64_t>(count, RowsUntilDue()));
    RETURN_IF_ERROR(Append(batch, first, now));
    in_turn_ += now;
    first += now;
    count -= now;
    RETURN_IF_ERROR(PutDueRows());
  }
  return {};
}

Status DefectInjector::PutBroken(const Batch& batch, std::size_t row, const Defect& defect) {
  switch (defect.kind) {
    case DefectKind::kLate:
    case DefectKind::kOutOfOrder:
      HoldBack(batch, row, defect);
      ++offset_;
      return {};
    case DefectKind::kDuplicate:
      HoldBack(batch, row, defect);
      return PutSound(batch, row, 1);
    case DefectKind::kNull:
    case DefectKind::kSchema:
      break;
  }
  return PutDamaged(batch, row, defect);
}

Status DefectInjector::PutDamaged(const Batch& batch, std::size_t row, const Defect& defect) {
  const std::size_t column = table_->ColumnOf(defect.kind, defect.bits);
  const std::string right_value = ValueText(batch, column, row);
  const AnswerKey::Entry entry = {.kind = defect.kind,
                                  .column = batch.table().columns[column].name,
                                  .right_value = right_value};
  RETURN_IF_ERROR(RecordDefect(batch, row, entry, offset_));
  ++written_;
  ++offset_;
  ++in_turn_;
  if (out_.HasSink()) {
    AppendRows(batch, row, 1, out_.batch(), out_.rows());
    BrokenTable::Damage(out_.batch(), column, out_.rows(), defect.kind);
    RETURN_IF_ERROR(out_.Add());
  }
  return PutDueRows();
}

void DefectInjector::HoldBack(const Batch& batch, std::size_t row, const Defect& defect) {
  std::unique_ptr<Batch> kept;
  if (spare_.empty()) {
    kept = std::make_unique<Batch>(batch.table());
  } else {
    kept = std::move(spare_.back());
    spare_.pop_back();
  }
  kept->Begin(1);
  AppendRows(batch, row, 1, *kept, 0);
  // The first copy of a duplicate is written in turn, before the second is due.
  const uint64_t own = defect.kind == DefectKind::kDuplicate ? 1 : 0;
  held_.push_back({.due = in_turn_ + own + defect.rows_later,
                   .offset = offset_,
                   .kind = defect.kind,
                   .row = std::move(kept)});
  std::ranges::push_heap(held_, std::greater<>());
}

uint64_t DefectInjector::RowsUntilDue() const {
  return held_.empty() ? UINT64_MAX : held_.front().due - in_turn_;
}

Status DefectInjector::PutDueRows() {
  while (!held_.empty() && held_.front().due <= in_turn_) {
    std::ranges::pop_heap(held_, std::greater<>());
    HeldRow next = std::move(held_.back());
    held_.pop_back();
    RETURN_IF_ERROR(RecordDefect(*next.row, 0, {.kind = next.kind}, next.offset));
    RETURN_IF_ERROR(Append(*next.row, 0, 1));
    spare_.push_back(std::move(next.row));
  }
  return {};
}

Status DefectInjector::Append(const Batch& batch, std::size_t first, std::size_t count) {
  written_ += count;
  while (out_.HasSink() && count > 0) {
    const std::size_t now = std::min(count, Batch::kMaxRows - out_.rows());
    AppendRows(batch, first, now, out_.batch(), out_.rows());
    RETURN_IF_ERROR(out_.Add(now));
    first += now;
    count -= now;
  }
  return {};
}

Status DefectInjector::RecordDefect(const Batch& batch, std::size_t row, AnswerKey::Entry entry,
                                    uint64_t offset) {
  entry.table = table_index_;
  entry.row_id = batch.column(0).TextAt(row);
  entry.position = place_.first_written + written_;
  entry.original_position = place_.first_row + offset;
  return key_->Put(entry);
}

Status DefectInjector::End() {
  in_turn_ = UINT64_MAX;
  RETURN_IF_ERROR(PutDueRows());
  return out_.Flush();
}

Status AnswerKey::Put(const Entry& entry) {
  using enum DefectsColumn;
  if (!buffer_.HasSink()) return {};
  Batch& batch = buffer_.batch();
  const std::size_t row = buffer_.rows();
  batch.column(kTableName).codes[row] = static_cast<uint16_t>(entry.table);
  batch.column(kRowId).AppendText(entry.row_id);
  batch.column(kKind).codes[row] = static_cast<uint16_t>(entry.kind);
  batch.column(kPosition).numbers[row] = static_cast<int64_t>(entry.position + 1);
  batch.column(kOriginalPosition).numbers[row] = static_cast<int64_t>(entry.original_position + 1);
  const uint8_t damaged = entry.column.empty() ? 0 : 1;
  batch.column(kColumnName).present[row] = damaged;
  batch.column(kColumnName).AppendText(entry.column);
  batch.column(kRightValue).present[row] = damaged;
  batch.column(kRightValue).AppendText(entry.right_value);
  return buffer_.Add();
}

}  // namespace reveza::fraudgen
