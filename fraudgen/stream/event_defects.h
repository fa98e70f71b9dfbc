// Injects defects into a stream. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/model/defects/defect_injector.h"
#include "fraudgen/model/defects/defective_model.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/row_text.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/schema/batch.h"
#include "fraudgen/stream/event.h"

namespace reveza::fraudgen {

// Applies row defects to the events of one source, identical to those in files. Damaged rows are
// rewritten; displaced rows are only marked, for DisplacedEvents.
class EventCorruptor {
 public:
  // `first_row`: row number of the source's first row in the table, if its rows are consecutive;
  // otherwise identifiers are the row numbers. `defects` must outlive it.
  static Result<std::unique_ptr<EventCorruptor>> Make(const TableOptions& options,
                                                      const RowDefects& defects,
                                                      std::optional<uint64_t> first_row);

  // Returns the defect of the source's next row; appends the line of a damaged row to `lines`.
  std::optional<EventDefect> Next(const Batch& batch, std::size_t row, TextBuffer& lines);

 private:
  EventCorruptor(TextPlan plan, const RowDefects& defects, std::optional<uint64_t> first_row);

  const RowDefects* defects_;
  std::optional<uint64_t> next_row_;
  RowText text_;
  Batch damaged_;
};

// Delays or duplicates the marked events of a timeline by their number of rows, and records their
// original positions.
class DisplacedEvents final : public EventFeed {
 public:
  // `source` must outlive it.
  explicit DisplacedEvents(EventFeed& source) : source_(&source) {}
  DisplacedEvents(const DisplacedEvents&) = delete;
  DisplacedEvents& operator=(const DisplacedEvents&) = delete;

  // A late event gets the time of the previous event, when it is to be sent.
  Status Next(std::size_t max_events, std::vector<Event>& events) override;

 private:
  struct Held {
    uint64_t due = 0;  // number of events in order after which to emit it
    EventDefect defect;
    std::string id;
    std::string key;
    std::string line;
  };

  void Put(const Event& event, std::vector<Event>& events);
  void Hold(const Event& event);
  // Emits the next due event; returns false if there is none.
  bool PutHeld(std::vector<Event>& events);

  EventFeed* source_;
  std::vector<Event> read_;  // from source_
  std::size_t used_ = 0;     // of read_
  uint64_t position_ = 0;    // of the next event
  uint64_t in_order_ = 0;    // events emitted in order
  int64_t now_ = 0;
  bool ended_ = false;
  std::vector<std::unique_ptr<Held>> held_;  // a heap, the next due in front
  // Storage of the events returned by Next().
  std::vector<std::unique_ptr<Held>> emitted_;
  std::deque<EventDefect> damaged_;
};

// Forwards events to a sink and writes the answer key of the defective events that it accepted,
// with their positions.
class EventKeySink final : public EventSink {
 public:
  // `table` is one of the tables that may have defects. Writes JSON lines to `key`. All arguments
  // must outlive it.
  static Result<std::unique_ptr<EventKeySink>> Make(EventSink& events, std::string_view table,
                                                    ByteSink& key);

  // Also returns errors of the key's sink.
  Result<std::size_t> Send(std::span<const Event> events) override;
  Status Flush() override { return events_->Flush(); }
  uint64_t acknowledged() const override { return events_->acknowledged(); }
  uint64_t resent() const override { return events_->resent(); }

 private:
  class Rows final : public BatchSink {
   public:
    Rows(TextPlan plan, ByteSink& sink) : text_(std::move(plan)), sink_(&sink) {}
    Status Put(const Batch& batch) override;

   private:
    RowText text_;
    TextBuffer lines_;
    ByteSink* sink_;
  };

  EventKeySink(EventSink& events, std::size_t table, TextPlan plan, ByteSink& key)
      : events_(&events), table_(table), rows_(std::move(plan), key), key_(&rows_) {}

  EventSink* events_;
  std::size_t table_;
  Rows rows_;
  AnswerKey key_;
  uint64_t position_ = 0;
};

}  // namespace reveza::fraudgen
