// A row on its way to an EventSink: its JSON, identifier and key; and where events come from and
// go. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/output/text_buffer.h"
#include "fraudgen/schema/schema_derived.h"

namespace reveza::fraudgen {

// An injected defect of an event.
struct EventDefect {
  DefectKind kind = DefectKind::kLate;
  uint32_t rows_later = 0;         // late, outoforder, duplicate: see Defect
  std::string_view column = {};    // null, schema: the damaged column
  std::string right_value = {};    // its original value
  uint64_t original_position = 0;  // from 0; set by DisplacedEvents
};

// Points into an EventBatch.
struct Event {
  int64_t time = 0;                     // microseconds, as in civil_time.h
  std::string_view id;                  // unique identifier of the row
  std::string_view key;                 // ordering key: the customer
  std::string_view line;                // one JSON record with line break
  const EventDefect* defect = nullptr;  // null: no defect

  std::string_view record() const { return line.substr(0, line.size() - 1); }
  // Timeline order.
  friend bool operator<(const Event& one, const Event& other) {
    return one.time != other.time ? one.time < other.time : one.id < other.id;
  }
};

// Events with their text, in order of time and identifier after Sort().
class EventBatch {
 public:
  std::size_t size() const { return entries_.size(); }
  Event At(std::size_t index) const {
    const Entry& entry = entries_[index];
    const std::string_view names = names_.view();
    const std::string_view lines = lines_.view();
    return {.time = entry.time,
            .id = names.substr(entry.name, entry.id_size),
            .key = names.substr(entry.name + entry.id_size, entry.key_size),
            .line = lines.substr(entry.line, entry.line_size),
            .defect = entry.defect == 0 ? nullptr : &defects_[entry.defect - 1]};
  }
  int64_t TimeAt(std::size_t index) const { return entries_[index].time; }

  void Clear();
  // Copies an event.
  void Add(const Event& event);
  // Lines may be written first, then added with AddLine() in the same order.
  TextBuffer& lines() { return lines_; }
  void AddLine(int64_t time, std::string_view id, std::string_view key, std::size_t line,
               std::size_t line_size);
  // Sets the defect of the last event.
  void SetDefect(EventDefect defect);
  void Sort();
  // Truncates to the first `size` events.
  void Shorten(std::size_t size) { entries_.resize(size); }

 private:
  struct Entry {
    int64_t time;
    uint32_t name;
    uint32_t line;
    uint32_t line_size;
    uint16_t id_size;
    uint16_t key_size;
    uint32_t defect;  // index in defects_ plus 1; 0: none
  };

  std::vector<Entry> entries_;
  TextBuffer names_;
  TextBuffer lines_;
  std::vector<EventDefect> defects_;
};

// A source of events in order of time and identifier.
class EventSource {
 public:
  virtual ~EventSource() = default;

  // Returns the next batch, which is not empty; nullptr at the end. Valid until released.
  virtual Result<EventBatch*> Next() = 0;
  // Releases a batch, in the order of Next().
  virtual void Release(EventBatch* batch) = 0;
};

// A complete timeline. Not thread-safe.
class EventFeed {
 public:
  virtual ~EventFeed() = default;

  // Replaces `events` by up to `max_events` events, none at the end. Invalidates previous events.
  virtual Status Next(std::size_t max_events, std::vector<Event>& events) = 0;
};

// A stop request, polled by waiting code. Not thread-safe.
class Stop {
 public:
  virtual ~Stop() = default;
  // Returns true once a stop was requested.
  virtual bool Requested() = 0;
  // Returns a descriptor that becomes readable at a stop request, or -1.
  virtual int file() const = 0;
};

// The destination of events. Delivery is at least once: unacknowledged events are resent and may
// arrive twice; receivers can deduplicate by identifier.
class EventSink {
 public:
  virtual ~EventSink() = default;

  // Accepts events in this order, and blocks while the receiver is busy. Returns how many were
  // accepted: fewer than all after a stop request or a failure, which the next call returns. Events
  // need not outlive the call.
  virtual Result<std::size_t> Send(std::span<const Event> events) = 0;
  // Waits until all accepted events are acknowledged.
  virtual Status Flush() = 0;
  // Number of events that the receiver acknowledged.
  virtual uint64_t acknowledged() const = 0;
  // Number of resent events or requests.
  virtual uint64_t resent() const { return 0; }
};

}  // namespace reveza::fraudgen
