// Sends a timeline to a sink, each event when it is due. Not safe from several threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "base/bytes.h"
#include "base/error.h"
#include "datagen/stream/event_sink.h"
#include "datagen/stream/event_source.h"
#include "datagen/stream/schedule.h"

namespace reveza::datagen {

// Time, and waiting for it. In tests not the real one.
class StreamClock {
 public:
  virtual ~StreamClock() = default;
  virtual std::chrono::nanoseconds Now() = 0;
  // Until then, or until Stop comes.
  virtual void WaitUntil(std::chrono::nanoseconds time) = 0;
};

struct StreamProgress {
  uint64_t events = 0;  // taken by the sink
  Bytes bytes = 0;
  int64_t first_time = 0;  // of the timeline
  int64_t last_time = 0;
  std::chrono::nanoseconds elapsed{0};  // from the first event to the last
  std::chrono::nanoseconds behind{0};   // how late the latest one was
  bool stopped = false;                 // Stop came before the end
  bool whole = false;                   // the timeline ended
};

struct StreamLimits {
  uint64_t most_events = UINT64_MAX;
};

using OnStreamProgress = std::function<void(const StreamProgress&)>;

// Until the timeline's end, the limit, or Stop. `progress` is true also after an error. Does not
// flush the sink.
Status RunStream(EventFeed& feed, EventSink& sink, const Schedule& schedule,
                 const StreamLimits& limits, StreamClock& clock, Stop& stop,
                 const OnStreamProgress& on_progress, StreamProgress& progress);

}  // namespace reveza::datagen
