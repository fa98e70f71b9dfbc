// Converts rows in order of time to events, one line of JSON each. Rows with equal times are sorted
// by identifier, so the last ones of a batch are held back for the next batch. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "common/base/error.h"
#include "fraudgen/output/row_text.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/schema/schema.h"
#include "fraudgen/stream/event.h"
#include "fraudgen/stream/event_defects.h"

namespace reveza::fraudgen {

// The columns of a table that identify events. Immutable.
enum class EventKey { kCustomer, kRow, kNone };

struct EventTable {
  const Table* table = nullptr;
  std::size_t time = 0;
  std::size_t id = 0;
  // Ordering key; unused with kNone.
  std::size_t key = 0;
  bool has_key = true;

  // kInvalidArgument: `table` is neither transactions nor rides.
  static Result<EventTable> Of(const Table& table, EventKey key);
};

class EventWriter {
 public:
  // `options` are those of JSON lines. `corruptor`, if given, injects defects.
  static Result<EventWriter> Make(const TableOptions& options, const EventTable& table,
                                  std::unique_ptr<EventCorruptor> corruptor = nullptr);

  // Starts a batch, which must not change while its rows are written.
  void Begin(const Batch& batch);
  // Replaces `events` by held-back events and the rows [first, last) whose position is final.
  // kInternal: rows not in order of time.
  Status Write(std::size_t first, std::size_t last, EventBatch& events);
  // Returns the held-back events at the end.
  void Finish(EventBatch& events);

 private:
  EventWriter(TextPlan plan, const EventTable& table, std::unique_ptr<EventCorruptor> corruptor)
      : table_(table), text_(std::move(plan)), corruptor_(std::move(corruptor)) {}

  EventTable table_;
  RowText text_;
  std::unique_ptr<EventCorruptor> corruptor_;  // null: no defects
  const Batch* batch_ = nullptr;
  EventBatch held_;  // events of the latest time
};

}  // namespace reveza::fraudgen
