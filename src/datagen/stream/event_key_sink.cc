#include "datagen/stream/event_key_sink.h"

#include <algorithm>
#include <utility>

namespace reveza::datagen {

Result<std::unique_ptr<EventKeySink>> EventKeySink::Make(EventSink& events, std::string_view table,
                                                         ByteSink& key) {
  auto plan = TextPlan::Make({.format = Format::kJsonLines}, kDefects);
  if (!plan) return std::unexpected(std::move(plan).error());
  const auto index = std::ranges::find(kBreakableTables, table) - kBreakableTables.begin();
  return std::unique_ptr<EventKeySink>(
      new EventKeySink(events, static_cast<std::size_t>(index), *std::move(plan), key));
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
  if (const Status flushed = key_.Flush(); !flushed) return std::unexpected(flushed.error());
  return taken;
}

}  // namespace reveza::datagen
