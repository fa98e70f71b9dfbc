// What happened lately, for `reveza trace`: a ring of the last events, written as a Chrome trace
// (opens in Perfetto). A row per job, a line per client.
// Thread-safety: none; the daemon's loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "base/bytes.h"

namespace reveza::daemon {

using Time = std::chrono::nanoseconds;

enum class EventKind : std::uint8_t {
  kSlice,        // the gate is open
  kDrain,        // the gate closes, what was queued ends
  kDrainFailed,  // the same, in vain
  kCopyOut,
  kCopyIn,
  kWait,         // at the closed gate
  kWaitContext,  // before a context
  kWaitMemory,   // for more memory
};
const char* ToText(EventKind kind);

struct Event {
  EventKind kind = EventKind::kSlice;
  std::uint32_t gpu = 0;
  std::uint64_t client = 0;
  Time begin{0};
  Time duration{0};
  Bytes bytes = 0;
};

class EventLog {
 public:
  static constexpr std::size_t kMostEvents = 65'536;
  static constexpr std::size_t kMostNames = 8'192;

  // Who a client is, also after it has gone.
  void Name(std::uint64_t client, std::uint64_t job, int pid, std::string name);
  void Add(const Event& event);
  std::size_t size() const { return events_.size(); }

  std::string ToJson() const;

 private:
  struct Who {
    std::uint64_t job = 0;
    int pid = 0;
    std::string name;
  };
  std::deque<Event> events_;
  std::map<std::uint64_t, Who> names_;  // numbers rise, so the first is the oldest
};

}  // namespace reveza::daemon
