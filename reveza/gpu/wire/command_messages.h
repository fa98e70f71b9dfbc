// Requests of the command line to the daemon, and its reply.
// Layout and transport are those of protocol.h.
#pragma once

#include <cstdint>

#include "reveza/gpu/wire/protocol.h"

namespace reveza::wire {

struct StatusRequest {
  static constexpr Type kType = Type::kStatusRequest;
};
struct TraceRequest {
  static constexpr Type kType = Type::kTraceRequest;
};
struct StopRequest {
  static constexpr Type kType = Type::kStopRequest;
  std::uint32_t force;  // 1: stop even with clients connected (they run on without a daemon)
  std::uint32_t reserved = 0;
};

// Changes the policy of the job with this name, number, or number of a process. The reply is JSON.
struct JobRequest {
  static constexpr Type kType = Type::kJobRequest;
  static constexpr std::uint16_t kSince = 3;
  Policy policy;
  char name[64];
};

// Asks for MPS for a job whose first process is the sender. The reply is JSON.
struct MpsRequest {
  static constexpr Type kType = Type::kMpsRequest;
  static constexpr std::uint16_t kSince = 3;
  std::uint64_t job;     // never 0
  std::uint32_t weight;  // in 1/kWeightUnit, at least 1
  std::uint32_t reserved = 0;
};

// Asks for events of the trace from number `since` on, as many as fit in one answer. The reply is
// JSON.
struct EventsRequest {
  static constexpr Type kType = Type::kEventsRequest;
  static constexpr std::uint16_t kSince = 4;
  std::uint64_t since;
};

// One fragment of a text reply (JSON), followed by `bytes` characters. last = 1 ends the reply.
struct TextHeader {
  static constexpr Type kType = Type::kText;
  std::uint32_t last;
  std::uint32_t bytes;
};

}  // namespace reveza::wire
