#include "datagen/stream/event_writer.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace reveza::datagen {

Result<EventWriter> EventWriter::Make(const TableOptions& options, const EventTable& table,
                                      std::unique_ptr<EventSpoiler> spoiler) {
  auto plan = TextPlan::Make(options, *table.table);
  if (!plan) return std::unexpected(std::move(plan).error());
  return EventWriter(*std::move(plan), table, std::move(spoiler));
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
  for (std::size_t i = 0; i < waiting_.size(); ++i) events.Add(waiting_.At(i));
  int64_t latest = waiting_.size() > 0 ? waiting_.TimeAt(0) : INT64_MIN;
  for (std::size_t row = first; row < last; ++row) {
    const int64_t time = times.numbers[row];
    if (time < latest) {
      return Fail(Error::Code::kInternal, fmt::format("row {} of {} comes before an earlier one",
                                                      ids.TextAt(row), table_.table->name));
    }
    latest = time;
    const std::size_t line = events.lines().size();
    std::optional<EventDefect> defect;
    if (spoiler_) defect = spoiler_->Next(*batch_, row, events.lines());
    if (events.lines().size() == line) text_.Append(row, row + 1, events.lines());
    events.AddLine(time, ids.TextAt(row), table_.has_key ? keys.TextAt(row) : std::string_view(),
                   line, events.lines().size() - line);
    if (defect) events.SetDefect(*std::move(defect));
  }
  events.Sort();
  std::size_t certain = events.size();
  while (certain > 0 && events.TimeAt(certain - 1) == latest) --certain;
  waiting_.Clear();
  for (std::size_t i = certain; i < events.size(); ++i) waiting_.Add(events.At(i));
  events.Shorten(certain);
  return {};
}

void EventWriter::Finish(EventBatch& events) {
  std::swap(events, waiting_);
  waiting_.Clear();
}

}  // namespace reveza::datagen
