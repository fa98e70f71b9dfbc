// Where events come from, in order of time and identifier. Not safe from several threads.
#pragma once

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

}  // namespace reveza::datagen
