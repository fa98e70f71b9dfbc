#include "fraudgen/stream/event_defects.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen {
namespace {

// "TXN_000000000000042"
uint64_t NumberOf(std::string_view id) {
  uint64_t number = 0;
  const std::size_t digits = std::min(id.find_first_of("0123456789"), id.size());
  std::from_chars(id.data() + digits, id.data() + id.size(), number);
  return number;
}

// Heap order: by due position, then by original position.
constexpr auto kLater = [](const auto& one, const auto& other) {
  return one->due != other->due ? one->due > other->due
                                : one->defect.original_position > other->defect.original_position;
};

}  // namespace

Result<std::unique_ptr<EventCorruptor>> EventCorruptor::Make(const TableOptions& options,
                                                             const RowDefects& defects,
                                                             std::optional<uint64_t> first_row) {
  ASSIGN_OR_RETURN(auto plan, TextPlan::Make(options, defects.table().table()));
  return std::unique_ptr<EventCorruptor>(new EventCorruptor(std::move(plan), defects, first_row));
}

EventCorruptor::EventCorruptor(TextPlan plan, const RowDefects& defects,
                               std::optional<uint64_t> first_row)
    : defects_(&defects),
      next_row_(first_row),
      text_(std::move(plan)),
      damaged_(defects.table().table()) {}

std::optional<EventDefect> EventCorruptor::Next(const Batch& batch, std::size_t row,
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

Status DisplacedEvents::Next(std::size_t max_events, std::vector<Event>& events) {
  events.clear();
  emitted_.clear();
  damaged_.clear();
  while (events.size() < max_events) {
    if (PutHeld(events)) continue;
    if (ended_) return {};
    if (used_ == read_.size()) {
      // Reading invalidates the previous events, so return those first.
      if (!events.empty()) return {};
      used_ = 0;
      RETURN_IF_ERROR(source_->Next(max_events, read_));
      ended_ = read_.empty();
      continue;
    }
    Put(read_[used_++], events);
  }
  return {};
}

void DisplacedEvents::Put(const Event& event, std::vector<Event>& events) {
  const uint64_t position = position_++;
  now_ = event.time;
  if (event.defect == nullptr) {
    events.push_back(event);
    ++in_order_;
    return;
  }
  EventDefect& defect = damaged_.emplace_back(*event.defect);
  defect.original_position = position;
  events.push_back(event);
  events.back().defect = &defect;
  switch (defect.kind) {
    case DefectKind::kNull:
    case DefectKind::kSchema:
      ++in_order_;
      return;
    case DefectKind::kDuplicate:
      ++in_order_;
      Hold(events.back());
      // The first copy is correct.
      events.back().defect = nullptr;
      return;
    case DefectKind::kLate:
    case DefectKind::kOutOfOrder:
      Hold(events.back());
      events.pop_back();
      return;
  }
}

void DisplacedEvents::Hold(const Event& event) {
  held_.push_back(std::make_unique<Held>(Held{.due = in_order_ + event.defect->rows_later,
                                              .defect = *event.defect,
                                              .id = std::string(event.id),
                                              .key = std::string(event.key),
                                              .line = std::string(event.line)}));
  std::ranges::push_heap(held_, kLater);
}

bool DisplacedEvents::PutHeld(std::vector<Event>& events) {
  if (held_.empty() || (held_.front()->due > in_order_ && !ended_)) return false;
  std::ranges::pop_heap(held_, kLater);
  emitted_.push_back(std::move(held_.back()));
  held_.pop_back();
  const Held& held = *emitted_.back();
  events.push_back(
      {.time = now_, .id = held.id, .key = held.key, .line = held.line, .defect = &held.defect});
  return true;
}

Result<std::unique_ptr<EventKeySink>> EventKeySink::Make(EventSink& events, std::string_view table,
                                                         ByteSink& key) {
  ASSIGN_OR_RETURN(auto plan, TextPlan::Make({.format = Format::kJsonLines}, kDefects));
  const auto index = std::ranges::find(kBreakableTables, table) - kBreakableTables.begin();
  return std::unique_ptr<EventKeySink>(
      new EventKeySink(events, static_cast<std::size_t>(index), std::move(plan), key));
}

Status EventKeySink::Rows::Put(const Batch& batch) {
  lines_.Clear();
  text_.Begin(batch);
  text_.Append(0, batch.rows(), lines_);
  return sink_->Append(lines_.view());
}

Result<std::size_t> EventKeySink::Send(std::span<const Event> events) {
  auto taken = events_->Send(events);
  if (!taken) return taken;
  for (const Event& event : events.first(*taken)) {
    const uint64_t position = position_++;
    if (event.defect == nullptr) continue;
    const Status put = key_.Put({.table = table_,
                                 .row_id = event.id,
                                 .kind = event.defect->kind,
                                 .position = position,
                                 .original_position = event.defect->original_position,
                                 .column = event.defect->column,
                                 .right_value = event.defect->right_value});
    if (!put) return std::unexpected(put.error());
  }
  RETURN_IF_ERROR(key_.Flush());
  return taken;
}

}  // namespace reveza::fraudgen
