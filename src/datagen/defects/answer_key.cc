#include "datagen/defects/answer_key.h"

#include <utility>

namespace reveza::datagen {
namespace {

// The columns of kDefects, in their order.
enum KeyColumn : std::size_t { kTable, kRowId, kKind, kPosition, kOriginal, kColumn, kRightValue };

}  // namespace

AnswerKey::AnswerKey(BatchSink* sink) : sink_(sink), batch_(kDefects) {
  batch_.Begin(Batch::kMaxRows);
}

Status AnswerKey::Put(const Entry& entry) {
  if (sink_ == nullptr) return {};
  const std::size_t row = rows_++;
  batch_.column(kTable).codes[row] = static_cast<uint16_t>(entry.table);
  batch_.column(kRowId).AppendText(entry.row_id);
  batch_.column(kKind).codes[row] = static_cast<uint16_t>(entry.kind);
  batch_.column(kPosition).numbers[row] = static_cast<int64_t>(entry.position + 1);
  batch_.column(kOriginal).numbers[row] = static_cast<int64_t>(entry.original_position + 1);
  const uint8_t damaged = entry.column.empty() ? 0 : 1;
  batch_.column(kColumn).present[row] = damaged;
  batch_.column(kColumn).AppendText(entry.column);
  batch_.column(kRightValue).present[row] = damaged;
  batch_.column(kRightValue).AppendText(entry.right_value);
  return rows_ < Batch::kMaxRows ? Status{} : Flush();
}

Status AnswerKey::Flush() {
  if (rows_ == 0) return {};
  batch_.Shorten(std::exchange(rows_, 0));
  Status put = sink_->Put(batch_);
  batch_.Begin(Batch::kMaxRows);
  return put;
}

}  // namespace reveza::datagen
