// Recent events for `reveza trace`: a ring buffer, exported as a Chrome trace (opens in Perfetto)
// with a process per job and a thread per client.
//
// Not thread-safe; runs in the daemon's loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "common/base/bytes.h"
#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::daemon {

using Time = std::chrono::nanoseconds;

enum class EventKind : std::uint8_t {
  kSlice,        // the gate is open
  kDrain,        // gate closing, queues draining
  kDrainFailed,  // drain that failed
  kCopyOut,
  kCopyIn,
  kWait,         // waiting at the closed gate
  kWaitContext,  // waiting for a context
  kWaitMemory,   // waiting for memory
  kContextsOut,  // contexts leave the card
  kContextsIn,
  kPromote,  // to the card, of a program larger than it
  kDemote,   // to memory of the host
};
const char* ToText(EventKind kind);
double TraceMicroseconds(Time time);

struct Event {
  EventKind kind = EventKind::kSlice;
  std::uint32_t gpu = 0;
  std::uint64_t client = 0;
  Time begin{0};
  Time duration{0};
  Bytes bytes = 0;
  Bytes unchanged = 0;  // kCopyOut: released without a copy
};

// What a trace says of a client beside its events, so that `reveza simulate` can play it.
struct ClientFacts {
  Bytes memory = 0;   // the most that it had on one GPU so far, without contexts
  Bytes context = 0;  // likewise
  scheduler::Policy policy;
};

class EventLog {
 public:
  static constexpr std::size_t kMaxEvents = 65'536;
  static constexpr std::size_t kMaxNames = 8'192;
  static constexpr std::size_t kMaxAnswer = 4'096;  // events: milliseconds of the daemon's loop

  // Sets the name of a client, which is kept after it exits.
  void SetClientName(std::uint64_t client, std::uint64_t job, int pid, std::string name);
  // Returns the facts of a client, to be changed; null if it has no name.
  ClientFacts* Facts(std::uint64_t client);
  void Add(const Event& event);
  std::size_t size() const { return events_.size(); }

  // Returns up to kMaxAnswer events from number `since` on; events are numbered from 0 and only the
  // last kMaxEvents are there. `clients` names those of the events, and those `named`.
  nlohmann::json Since(std::uint64_t since, std::set<std::uint64_t> named) const;

  // `machine`: what the trace says of the machine.
  std::string ToJson(const nlohmann::json& machine) const;

 private:
  struct ClientName {
    std::uint64_t job = 0;
    int pid = 0;
    std::string name;
    ClientFacts facts;
  };
  std::deque<Event> events_;
  std::uint64_t next_ = 0;                     // number of the next event
  std::map<std::uint64_t, ClientName> names_;  // ids increase, so the first is the oldest
};

}  // namespace reveza::daemon
