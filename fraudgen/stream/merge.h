// Merges event sources by time and identifier, with one batch of each in memory. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/stream/event.h"

namespace reveza::fraudgen {

class Merge final : public EventFeed {
 public:
  // `sources` must outlive it.
  explicit Merge(std::vector<EventSource*> sources) : sources_(std::move(sources)) {}
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  Status Next(std::size_t max_events, std::vector<Event>& events) override;

 private:
  // A source's next event.
  struct Head {
    Event event;
    EventBatch* batch;
    std::size_t index;  // of the event in the batch
    EventSource* source;
  };

  Status Start();
  // Advances the first head; removes it at the end of its source.
  Status Advance();
  void SiftDown(std::size_t place);

  std::vector<EventSource*> sources_;
  std::vector<Head> heads_;  // a heap, the earliest first
  std::vector<std::pair<EventSource*, EventBatch*>> exhausted_;
  bool started_ = false;
};

}  // namespace reveza::fraudgen
