// Many timelines as one: always the earliest of what comes next, by time and then identifier. Keeps
// one batch of each. Pure, and not safe from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"
#include "datagen/stream/event_source.h"

namespace reveza::datagen {

class Merge final : public EventFeed {
 public:
  // The sources must outlive it.
  explicit Merge(std::vector<EventSource*> sources) : sources_(std::move(sources)) {}
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  Status Next(std::size_t most, std::vector<Event>& events) override;

 private:
  // A source's next event.
  struct Head {
    Event event;
    EventBatch* batch;
    std::size_t index;  // of the event in the batch
    EventSource* source;
  };

  Status Begin();
  // To the next event of the first head, which may end that source.
  Status Advance();
  void SiftDown(std::size_t place);

  std::vector<EventSource*> sources_;
  std::vector<Head> heads_;  // a heap, the earliest first
  std::vector<std::pair<EventSource*, EventBatch*>> used_up_;
  bool begun_ = false;
};

}  // namespace reveza::datagen
