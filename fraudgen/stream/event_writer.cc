#include "fraudgen/stream/event_writer.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace reveza::fraudgen {
namespace {

std::optional<std::size_t> Find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table.columns, name, &Column::name);
  if (found == table.columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - table.columns.begin());
}

}  // namespace

Result<EventTable> EventTable::Of(const Table& table, EventKey key) {
  const bool rides = table.name == "rides";
  const auto time = Find(table, "timestamp");
  const auto id = Find(table, rides ? "ride_id" : "transaction_id");
  const auto customer = Find(table, rides ? "passenger_id" : "customer_id");
  if (!time || !id || !customer) {
    return Fail(Error::Code::kInvalidArgument,
                "cannot stream the table {}; expected transactions or rides", table.name);
  }
  return EventTable{.table = &table,
                    .time = *time,
                    .id = *id,
                    .key = key == EventKey::kRow ? *id : *customer,
                    .has_key = key != EventKey::kNone};
}

Result<EventWriter> EventWriter::Make(const TableOptions& options, const EventTable& table,
                                      std::unique_ptr<EventCorruptor> corruptor) {
  ASSIGN_OR_RETURN(auto plan, TextPlan::Make(options, *table.table));
  return EventWriter(std::move(plan), table, std::move(corruptor));
}

void EventWriter::Begin(const Batch& batch) {
  batch_ = &batch;
  text_.Begin(batch);
}

Status EventWriter::Write(std::size_t first, std::size_t last, EventBatch& events) {
  const ColumnValues& times = batch_->column(table_.time);
  const ColumnValues& ids = batch_->column(table_.id);
  const ColumnValues& keys = batch_->column(table_.key);
  events.Clear();
  for (std::size_t i = 0; i < held_.size(); ++i) events.Add(held_.At(i));
  int64_t latest = held_.size() > 0 ? held_.TimeAt(0) : INT64_MIN;
  for (std::size_t row = first; row < last; ++row) {
    const int64_t time = times.numbers[row];
    if (time < latest) {
      return Fail(Error::Code::kInternal, "row {} of {} is not in order of time", ids.TextAt(row),
                  table_.table->name);
    }
    latest = time;
    const std::size_t line = events.lines().size();
    std::optional<EventDefect> defect;
    if (corruptor_) defect = corruptor_->Next(*batch_, row, events.lines());
    if (events.lines().size() == line) text_.Append(row, row + 1, events.lines());
    events.AddLine(time, ids.TextAt(row), table_.has_key ? keys.TextAt(row) : std::string_view(),
                   line, events.lines().size() - line);
    if (defect) events.SetDefect(*std::move(defect));
  }
  events.Sort();
  std::size_t certain = events.size();
  while (certain > 0 && events.TimeAt(certain - 1) == latest) --certain;
  held_.Clear();
  for (std::size_t i = certain; i < events.size(); ++i) held_.Add(events.At(i));
  events.Shorten(certain);
  return {};
}

void EventWriter::Finish(EventBatch& events) {
  std::swap(events, held_);
  held_.Clear();
}

}  // namespace reveza::fraudgen
