#include "datagen/defects/spoiler.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "datagen/append_rows.h"
#include "datagen/value_text.h"

namespace reveza::datagen {
namespace {

std::size_t IndexOf(const Table& table) {
  const auto found = std::ranges::find(kBreakableTables, table.name);
  return static_cast<std::size_t>(found - kBreakableTables.begin());
}

}  // namespace

Spoiler::Spoiler(const BrokenTable& table, const DefectPlan& plan, Place place, BatchSink* sink,
                 AnswerKey& key)
    : table_(&table),
      plan_(&plan),
      place_(place),
      sink_(sink),
      key_(&key),
      table_index_(IndexOf(table.sound())),
      out_(table.table()) {
  out_.Begin(Batch::kMaxRows);
}

Status Spoiler::Put(const Batch& batch) {
  std::size_t sound = 0;  // the first of the sound rows that wait to be copied together
  for (std::size_t row = 0; row < batch.rows(); ++row) {
    const auto defect = plan_->At(offset_ + (row - sound));
    if (!defect) continue;
    if (auto put = PutSound(batch, sound, row - sound); !put) return put;
    if (auto put = PutBroken(batch, row, *defect); !put) return put;
    sound = row + 1;
  }
  return PutSound(batch, sound, batch.rows() - sound);
}

// Those that wait come between them.
Status Spoiler::PutSound(const Batch& batch, std::size_t first, std::size_t count) {
  offset_ += count;
  while (count > 0) {
    const auto now = static_cast<std::size_t>(std::min<uint64_t>(count, TurnsUntilDue()));
    if (auto put = Append(batch, first, now); !put) return put;
    turns_ += now;
    first += now;
    count -= now;
    if (auto put = PutWaiting(); !put) return put;
  }
  return {};
}

Status Spoiler::PutBroken(const Batch& batch, std::size_t row, const Defect& defect) {
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

Status Spoiler::PutDamaged(const Batch& batch, std::size_t row, const Defect& defect) {
  const std::size_t column = table_->ColumnOf(defect.kind, defect.bits);
  const std::string right_value = ValueText(batch, column, row);
  const AnswerKey::Entry entry = {.kind = defect.kind,
                                  .column = batch.table().columns[column].name,
                                  .right_value = right_value};
  if (auto noted = Note(batch, row, entry, offset_); !noted) return noted;
  if (sink_ != nullptr) {
    AppendRows(batch, row, 1, out_, rows_);
    BrokenTable::Damage(out_, column, rows_, defect.kind);
    ++rows_;
  }
  ++written_;
  ++offset_;
  ++turns_;
  if (rows_ == Batch::kMaxRows) {
    if (auto flushed = Flush(); !flushed) return flushed;
  }
  return PutWaiting();
}

void Spoiler::HoldBack(const Batch& batch, std::size_t row, const Defect& defect) {
  std::unique_ptr<Batch> kept;
  if (spare_.empty()) {
    kept = std::make_unique<Batch>(batch.table());
  } else {
    kept = std::move(spare_.back());
    spare_.pop_back();
  }
  kept->Begin(1);
  AppendRows(batch, row, 1, *kept, 0);
  // The first of two is written in its turn, before the second one is due.
  const uint64_t own = defect.kind == DefectKind::kDuplicate ? 1 : 0;
  waiting_.push_back({.due = turns_ + own + defect.rows_later,
                      .offset = offset_,
                      .kind = defect.kind,
                      .row = std::move(kept)});
  std::ranges::push_heap(waiting_, std::greater<>());
}

uint64_t Spoiler::TurnsUntilDue() const {
  return waiting_.empty() ? UINT64_MAX : waiting_.front().due - turns_;
}

Status Spoiler::PutWaiting() {
  while (!waiting_.empty() && waiting_.front().due <= turns_) {
    std::ranges::pop_heap(waiting_, std::greater<>());
    Waiting next = std::move(waiting_.back());
    waiting_.pop_back();
    if (auto noted = Note(*next.row, 0, {.kind = next.kind}, next.offset); !noted) return noted;
    if (auto put = Append(*next.row, 0, 1); !put) return put;
    spare_.push_back(std::move(next.row));
  }
  return {};
}

Status Spoiler::Append(const Batch& batch, std::size_t first, std::size_t count) {
  written_ += count;
  if (sink_ == nullptr) return {};
  while (count > 0) {
    const std::size_t now = std::min(count, Batch::kMaxRows - rows_);
    AppendRows(batch, first, now, out_, rows_);
    rows_ += now;
    first += now;
    count -= now;
    if (rows_ < Batch::kMaxRows) continue;
    if (auto flushed = Flush(); !flushed) return flushed;
  }
  return {};
}

Status Spoiler::Note(const Batch& batch, std::size_t row, AnswerKey::Entry entry, uint64_t offset) {
  entry.table = table_index_;
  entry.row_id = batch.column(0).TextAt(row);
  entry.position = place_.first_written + written_;
  entry.original_position = place_.first_row + offset;
  return key_->Put(entry);
}

Status Spoiler::Flush() {
  if (rows_ == 0) return {};
  out_.Shorten(std::exchange(rows_, 0));
  Status put = sink_->Put(out_);
  out_.Begin(Batch::kMaxRows);
  return put;
}

Status Spoiler::End() {
  turns_ = UINT64_MAX;
  if (auto put = PutWaiting(); !put) return put;
  return sink_ == nullptr ? Status{} : Flush();
}

}  // namespace reveza::datagen
