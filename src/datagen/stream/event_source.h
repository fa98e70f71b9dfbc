// Where events come from, in order of time and identifier. Not safe from several threads.
#pragma once

#include <cstddef>
#include <vector>

#include "base/error.h"
#include "datagen/stream/event.h"

namespace reveza::datagen {

class EventSource {
 public:
  virtual ~EventSource() = default;

  // The next events, at least one, all after those before; or nullptr when there are no more. They
  // stay until they are given back.
  virtual Result<EventBatch*> Next() = 0;
  // Done with a batch that Next gave; in the order in which they came.
  virtual void GiveBack(EventBatch* batch) = 0;
};

// A whole timeline. Not safe from several threads.
class EventFeed {
 public:
  virtual ~EventFeed() = default;

  // Up to `most` events in `events`; none of them when there are no more. What it gave before is
  // gone then.
  virtual Status Next(std::size_t most, std::vector<Event>& events) = 0;
};

}  // namespace reveza::datagen
