// Stands before a sink and writes down which of the events that it took were broken on purpose,
// with their place in what was sent. Not safe from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "datagen/defects/answer_key.h"
#include "datagen/output/byte_sink.h"
#include "datagen/output/row_text.h"
#include "datagen/stream/event_sink.h"

namespace reveza::datagen {

class EventKeySink final : public EventSink {
 public:
  // The events of `table`, one of kBreakableTables; the answer key as lines of JSON. All must
  // outlive it.
  static Result<std::unique_ptr<EventKeySink>> Make(EventSink& events, std::string_view table,
                                                    ByteSink& key);

  // An error of the key's sink is one too.
  Result<std::size_t> Send(std::span<const Event> events) override;
  Status Flush() override { return events_->Flush(); }
  uint64_t confirmed() const override { return events_->confirmed(); }
  uint64_t repeated() const override { return events_->repeated(); }

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

}  // namespace reveza::datagen
