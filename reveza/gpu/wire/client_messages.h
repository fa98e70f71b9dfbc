// Messages of clients to the daemon.
// Layout and transport are those of protocol.h.
#pragma once

#include <cstdint>

#include "reveza/gpu/wire/protocol.h"

namespace reveza::wire {

enum HelloFlags : std::uint32_t {
  kHelloResident = 1u << 0,  // `--resident`: native allocations, never swapped
  kHelloResuming = 1u << 1,  // reconnecting to a restarted daemon: one kResumed per GPU follows
  // Since version 3: the driver can take the contexts off the card, as far as is known.
  kHelloMovableContexts = 1u << 2,
  // Since version 4: memory of the host backs what the GPU cannot hold. Its growth is refused
  // rather than left waiting for memory of others that cannot be swapped.
  kHelloHostBacked = 1u << 3,
};

// First message of a client. The daemon takes pid and uid from SO_PEERCRED.
struct Hello {
  static constexpr Type kType = Type::kHello;
  std::uint64_t job;  // shared by all clients of one `reveza run`; never 0
  std::uint32_t flags;
  std::uint32_t gate_open;  // 1: resuming with the gate open
  char name[64];
  char command[192];
};

// Requests admission before the first context on a GPU. The daemon answers kContextAdmitted once
// there is room and no other client is creating a context on that GPU; the client waits until then.
struct ContextRequested {
  static constexpr Type kType = Type::kContextRequested;
  std::uint8_t uuid[16];
  std::uint64_t total;  // memory of the GPU in bytes, as reported by the driver
};

// Reports that the context was created. overhead: its GPU memory in bytes; 0 if creation failed.
struct ContextCreated {
  static constexpr Type kType = Type::kContextCreated;
  std::uint32_t gpu;
  std::uint32_t reserved = 0;
  std::uint64_t overhead;
};

enum class GrowthKind : std::uint32_t { kSwappable = 0, kPinned = 1 };

// Requests `bytes` more physical memory; a thread blocks until kGrowthAnswer{request}.
struct GrowthRequested {
  static constexpr Type kType = Type::kGrowthRequested;
  std::uint32_t request;
  std::uint32_t gpu;
  GrowthKind kind;
  std::uint32_t reserved = 0;
  std::uint64_t bytes;
};

// Complete memory accounting of the client for one GPU, sent after any change. credit_returned is
// the credit given back with this message. During an eviction it is sent once per copied piece, so
// that the next client can swap in concurrently.
struct Account {
  static constexpr Type kType = Type::kAccount;
  std::uint32_t gpu;
  std::uint32_t reserved = 0;
  std::uint64_t credit_returned;
  std::uint64_t resident;  // swappable, in GPU memory
  std::uint64_t swapped;   // swappable, not in GPU memory (with or without a host copy)
  std::uint64_t pinned;    // not swappable: pools, arrays, exports
  std::uint64_t context;   // measured size of this client's contexts
  std::uint64_t arena;     // host memory pinned for swapping, all GPUs together
};

// A thread is blocked at the closed gate. Sent once per closing of the gate.
struct GateRequested {
  static constexpr Type kType = Type::kGateRequested;
};

// Under contention: no submissions and an empty queue for Contention::idle_after_us.
struct Idle {
  static constexpr Type kType = Type::kIdle;
};

struct GateClosed {
  static constexpr Type kType = Type::kGateClosed;
  std::uint32_t serial;    // of the CloseGate being answered
  std::uint32_t gate_us;   // time until the last thread left the gate
  std::uint32_t drain_us;  // time until the queue was empty
  std::uint32_t reserved = 0;
};

enum class DrainFailure : std::uint32_t {
  kLimit = 0,      // GPU work did not finish within the limit
  kCapture = 1,    // a stream capture is in progress
  kInsideCall = 2  // a thread did not return from a driver call within the limit
};

// The drain failed and the gate is open again; the daemon retries later.
struct DrainFailed {
  static constexpr Type kType = Type::kDrainFailed;
  std::uint32_t serial;
  DrainFailure reason;
  std::uint32_t waited_us;
  std::uint32_t reserved = 0;
};

// The GPU has not drained within CloseGate::report_after_us; GateClosed or DrainFailed follows.
struct Draining {
  static constexpr Type kType = Type::kDraining;
  std::uint32_t serial;
  std::uint32_t reserved = 0;
};

// The client needs the GPU no more for the moment, whatever it still submits: its slice may end.
struct Yield {
  static constexpr Type kType = Type::kYield;
  static constexpr std::uint16_t kSince = 3;
};

// While it holds (on = 1), the slice of its job does not end, for at most the longest slice.
struct Hold {
  static constexpr Type kType = Type::kHold;
  static constexpr std::uint16_t kSince = 3;
  std::uint32_t on;
  std::uint32_t reserved = 0;
};

// kReleased: the contexts, and all memory that is pinned, have left all GPUs. kBusy: not now, since
// a thread is in a call. kRefused: never, e.g. because the driver refuses.
enum class ContextRelease : std::uint32_t { kReleased = 0, kBusy = 1, kRefused = 2 };

// Answers ReleaseContexts. With serial 0, before Resumed: they have left since an earlier daemon.
struct ContextsReleased {
  static constexpr Type kType = Type::kContextsReleased;
  static constexpr std::uint16_t kSince = 3;
  std::uint32_t serial;
  ContextRelease outcome;
};

// The contexts are back; the gate is still closed.
struct ContextsRestored {
  static constexpr Type kType = Type::kContextsRestored;
  static constexpr std::uint16_t kSince = 3;
  std::uint32_t serial;
  std::uint32_t reserved = 0;
};

// After each round in which a program larger than the card looks at its memory: what is in memory
// of the host at its place, and takes no credit.
struct HostBacked {
  static constexpr Type kType = Type::kHostBacked;
  static constexpr std::uint16_t kSince = 4;
  std::uint32_t gpu;
  std::uint32_t full;      // 1: what is hot has no room on the GPU
  std::uint64_t bytes;     // in memory of the host
  std::uint64_t hot;       // of these, what has changed between two looks
  std::uint64_t promoted;  // moved to the GPU by this round
  std::uint64_t demoted;   // moved to the host by this round
  std::uint64_t pass_us;   // estimate of what one pass over `hot` takes over the link
};

enum class EvictFailure : std::uint32_t { kNone = 0, kHostMemory = 1, kDriver = 2 };

// End of an eviction. The credit was returned by the preceding Account messages.
struct Evicted {
  static constexpr Type kType = Type::kEvicted;
  std::uint32_t serial;
  std::uint32_t gpu;
  std::uint64_t freed;   // physical bytes released
  std::uint64_t copied;  // of which were copied over the link
  std::uint32_t out_us;
  EvictFailure failure;
};

// Of the eviction that ends with the next message: physical bytes released without a copy, because
// the host has the same contents or they are zeros. Not sent for 0.
struct Unchanged {
  static constexpr Type kType = Type::kUnchanged;
  static constexpr std::uint16_t kSince = 3;
  std::uint32_t serial;
  std::uint32_t gpu;
  std::uint64_t bytes;
};

// All memory of this client is resident; its gate is still closed.
struct SwappedIn {
  static constexpr Type kType = Type::kSwappedIn;
  std::uint32_t serial;
  std::uint32_t in_us;  // from first credit to last byte
  std::uint64_t copied;
};

// Sent after Hello with kHelloResuming, one per GPU with a context. Answered by kContextAdmitted.
struct Resumed {
  static constexpr Type kType = Type::kResumed;
  std::uint8_t uuid[16];
  std::uint64_t total;
  std::uint64_t resident;
  std::uint64_t swapped;
  std::uint64_t pinned;
  std::uint64_t context;
  std::uint64_t credit;
};

}  // namespace reveza::wire
