// Makes events of a table's rows, which come in order of time: each one line of JSON. Rows of equal
// time come in any order and leave in that of their identifiers, so the last ones of a batch wait
// for the next. Not safe from several threads.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/error.h"
#include "datagen/batch.h"
#include "datagen/output/row_text.h"
#include "datagen/stream/event.h"
#include "datagen/stream/event_spoiler.h"
#include "datagen/stream/event_table.h"

namespace reveza::datagen {

class EventWriter {
 public:
  // `options` are those of JSON lines. With a spoiler, its rows are broken as it says.
  static Result<EventWriter> Make(const TableOptions& options, const EventTable& table,
                                  std::unique_ptr<EventSpoiler> spoiler = nullptr);

  // Looks at the next batch, which must stay as it is while its rows are added.
  void Begin(const Batch& batch);
  // The rows from `first` up to `last`, after those that waited; `events` begins anew with what is
  // certain of its place. An error: a row before its time.
  Status Write(std::size_t first, std::size_t last, EventBatch& events);
  // Those that wait, when no more come.
  void Finish(EventBatch& events);

 private:
  EventWriter(TextPlan plan, const EventTable& table, std::unique_ptr<EventSpoiler> spoiler)
      : table_(table), text_(std::move(plan)), spoiler_(std::move(spoiler)) {}

  EventTable table_;
  RowText text_;
  std::unique_ptr<EventSpoiler> spoiler_;  // null: all rows are sound
  const Batch* batch_ = nullptr;
  EventBatch waiting_;  // all of the same time
};

}  // namespace reveza::datagen
