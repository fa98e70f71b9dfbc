#include "datagen/stream/event_spoiler.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "datagen/append_rows.h"
#include "datagen/value_text.h"

namespace reveza::datagen {
namespace {

// "TXN_000000000000042"
uint64_t NumberOf(std::string_view id) {
  uint64_t number = 0;
  const std::size_t digits = std::min(id.find_first_of("0123456789"), id.size());
  std::from_chars(id.data() + digits, id.data() + id.size(), number);
  return number;
}

}  // namespace

Result<std::unique_ptr<EventSpoiler>> EventSpoiler::Make(const TableOptions& options,
                                                         const RowDefects& defects,
                                                         std::optional<uint64_t> first_row) {
  auto plan = TextPlan::Make(options, defects.table().table());
  if (!plan) return std::unexpected(std::move(plan).error());
  return std::unique_ptr<EventSpoiler>(new EventSpoiler(*std::move(plan), defects, first_row));
}

EventSpoiler::EventSpoiler(TextPlan plan, const RowDefects& defects,
                           std::optional<uint64_t> first_row)
    : defects_(&defects),
      next_row_(first_row),
      text_(std::move(plan)),
      damaged_(defects.table().table()) {}

std::optional<EventDefect> EventSpoiler::Next(const Batch& batch, std::size_t row,
                                              TextBuffer& lines) {
  const auto defect =
      defects_->At(next_row_ ? (*next_row_)++ : NumberOf(batch.column(0).TextAt(row)));
  if (!defect) return std::nullopt;
  if (defect->kind != DefectKind::kNull && defect->kind != DefectKind::kSchema) {
    return EventDefect{.kind = defect->kind, .rows_later = defect->rows_later};
  }
  const std::size_t column = defects_->table().ColumnOf(defect->kind, defect->bits);
  damaged_.Begin(1);
  AppendRows(batch, row, 1, damaged_, 0);
  BrokenTable::Damage(damaged_, column, 0, defect->kind);
  text_.Begin(damaged_);
  text_.Append(0, 1, lines);
  return EventDefect{.kind = defect->kind,
                     .column = batch.table().columns[column].name,
                     .right_value = ValueText(batch, column, row)};
}

}  // namespace reveza::datagen
