// Sends a timeline to a sink, each event when due. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "fraudgen/stream/event.h"

namespace reveza::fraudgen {

// When each event is due, relative to the first: computed from its number or time, not from when
// the previous event was sent, so that delays do not accumulate. Immutable.
class Schedule {
 public:
  // No waiting.
  static Schedule Max() { return {Kind::kMax, 0}; }
  // `millionths` (at least 1) of an event per second.
  static Schedule Rate(uint64_t millionths) { return {Kind::kRate, millionths}; }
  // The pauses of the timeline, `times` (at least 1) as fast.
  static Schedule Pace(uint64_t times) { return {Kind::kPace, times}; }

  // Parses events per second, from 0.000001 to a billion: "250", "0.5".
  static Result<Schedule> ParseRate(std::string_view text);
  // Parses real, max, or x60 for sixty times as fast.
  static Result<Schedule> ParsePace(std::string_view text);

  bool IsMax() const { return kind_ == Kind::kMax; }

  // Returns when event `number` (from 0) is due, at most a century. Times are those of the timeline
  // in microseconds; `time` must not be before `first_time`.
  std::chrono::nanoseconds DueAt(uint64_t number, int64_t time, int64_t first_time) const;

 private:
  enum class Kind { kMax, kRate, kPace };
  Schedule(Kind kind, uint64_t factor) : kind_(kind), factor_(factor) {}

  Kind kind_;
  uint64_t factor_;
};

// A clock that tests can replace.
class StreamClock {
 public:
  virtual ~StreamClock() = default;
  virtual std::chrono::nanoseconds Now() = 0;
  // Waits until `time` or a stop request.
  virtual void WaitUntil(std::chrono::nanoseconds time) = 0;
};

// The steady clock.
class RealClock final : public StreamClock {
 public:
  explicit RealClock(Stop& stop) : stop_(stop) {}
  std::chrono::nanoseconds Now() override;
  void WaitUntil(std::chrono::nanoseconds time) override;

 private:
  Stop& stop_;
};

struct StreamProgress {
  uint64_t events = 0;  // accepted by the sink
  Bytes bytes = 0;
  int64_t first_time = 0;  // of the timeline
  int64_t last_time = 0;
  std::chrono::nanoseconds elapsed{0};  // from the first event to the last
  std::chrono::nanoseconds behind{0};   // delay of the latest event
  bool stopped = false;                 // stop requested before the end
  bool whole = false;                   // all events were sent
};

using OnStreamProgress = std::function<void(const StreamProgress&)>;

// Sends events until the end, `max_events` or a stop request. `progress` is valid also after an
// error. Does not flush the sink.
Status RunStream(EventFeed& feed, EventSink& sink, const Schedule& schedule, uint64_t max_events,
                 StreamClock& clock, Stop& stop, const OnStreamProgress& on_progress,
                 StreamProgress& progress);

}  // namespace reveza::fraudgen
