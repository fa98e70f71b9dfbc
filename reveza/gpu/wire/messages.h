// Layout of the messages between clients, the daemon and the command line. The message flow is in
// docs/protocol.md.
//
// Transport: a Unix SOCK_SEQPACKET socket, one message per packet, host byte order (both ends are
// on one machine). A packet is exactly a Header and the body of its type; only kText has a body of
// variable length. Every struct is plain data without padding (asserted in codec.cc); strings
// are NUL-terminated within their arrays.
//
// Part of libreveza.so: libc and header-only C++ only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reveza::wire {

inline constexpr std::uint32_t kMagic = 0x5a565652;  // "RVVZ"
// Incremented on any change of layout or semantics below. Both ends speak the older of their
// versions, down to kMinVersion: the daemon answers in that of the client, and a client refused for
// its version tries again in that of the daemon, or runs without one if there is no common version.
#ifdef REVEZA_OLDER_VERSION  // tests of upgrades build the programs with it
inline constexpr std::uint16_t kVersion = REVEZA_OLDER_VERSION;
#else
inline constexpr std::uint16_t kVersion = 4;
#endif
inline constexpr std::uint16_t kMinVersion = 2;
inline constexpr std::size_t kMaxPacket = 32 * 1024;
inline constexpr std::uint32_t kMaxGpus = 16;
// Upper bound of every byte count in a message (1 PiB); larger values are rejected as corrupt.
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 50;

enum class Type : std::uint16_t {
  // client to daemon
  kHello = 1,
  kContextRequested,
  kContextCreated,
  kGrowthRequested,
  kAccount,
  kGateRequested,
  kIdle,
  kGateClosed,
  kDrainFailed,
  kEvicted,
  kSwappedIn,
  kResumed,
  kDraining,
  kYield,  // since version 3, as all below that have kSince
  kHold,
  kUnchanged,
  kContextsReleased,
  kContextsRestored,
  kHostBacked,  // since version 4
  // in both directions
  kPolicy = 48,
  // daemon to client
  kWelcome = 64,
  kRefused,
  kContextAdmitted,
  kGrowthAnswer,
  kOpenGate,
  kCloseGate,
  kEvict,
  kSwapIn,
  kCredit,
  kContention,
  kPrepareArena,
  kWaitMessage,
  kContextRefused,
  kQueueBound,
  kReleaseContexts,
  kRestoreContexts,
  // command line to daemon, and its reply
  kStatusRequest = 128,
  kTraceRequest,
  kStopRequest,
  kText,
  kJobRequest,
  kMpsRequest,
  kEventsRequest,  // since version 4
};

struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  Type type;
};

// ---- client to daemon ----

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

// ---- in both directions ----

enum PolicyFields : std::uint32_t {
  kPolicyWeight = 1u << 0,
  kPolicyPriority = 1u << 1,
  kPolicyInteractive = 1u << 2,
  kPolicyMemory = 1u << 3,  // request and limit
  kPolicyPaused = 1u << 4,
};
inline constexpr std::uint32_t kWeightUnit = 100;  // weight 1
inline constexpr std::uint32_t kMaxPriority = 2;   // 0 low, 1 normal, 2 high

// From a client, after Hello: the policy that its job asks for; fields that are not named are left
// to the daemon. From the daemon: what was changed since, which a client sends to the next daemon.
struct Policy {
  static constexpr Type kType = Type::kPolicy;
  static constexpr std::uint16_t kSince = 3;
  std::uint32_t fields;
  std::uint32_t weight;  // in 1/kWeightUnit, at least 1
  std::uint32_t priority;
  std::uint32_t interactive;
  std::uint32_t paused;
  std::uint32_t reserved = 0;
  std::uint64_t request;  // bytes of each GPU; 0: none
  std::uint64_t limit;    // bytes of each GPU; 0: none
};

// ---- daemon to client ----

struct Welcome {
  static constexpr Type kType = Type::kWelcome;
  std::uint64_t client;  // id assigned by the daemon
  std::uint32_t drain_limit_us;
  std::uint32_t queue_bound_us;  // maximum GPU work queued under contention
};

enum class RefusedReason : std::uint32_t { kWrongVersion = 0, kProtocol = 1, kFull = 2, kUser = 3 };

struct Refused {
  static constexpr Type kType = Type::kRefused;
  RefusedReason reason;
  std::uint32_t version;  // protocol version of the daemon
  char text[120];
};

struct ContextAdmitted {
  static constexpr Type kType = Type::kContextAdmitted;
  std::uint8_t uuid[16];
  std::uint32_t gpu;  // index used by all later messages
  std::uint32_t reserved = 0;
  std::uint64_t budget;  // memory of the GPU as presented to the program
  // Reserved for the context; corrected by ContextCreated. Sent again after ContextCreated if the
  // daemon could measure the context. 0: unchanged (the answer to Resumed).
  std::uint64_t credit;
  std::uint64_t granule;  // minimum growth request, to keep requests rare
};

// The GPU cannot keep what the job's policy asks for; answers ContextRequested. The program is told
// "out of memory" and the text.
struct ContextRefused {
  static constexpr Type kType = Type::kContextRefused;
  static constexpr std::uint16_t kSince = 3;
  std::uint8_t uuid[16];
  char text[200];
};

enum class Growth : std::uint32_t {
  kRefused = 0,  // out of memory
  kGranted = 1,  // the client may hold `credit` more bytes of physical memory
  kLater = 2,    // the gate is closing: allocate virtually, or ask again once it is open
};

struct GrowthAnswer {
  static constexpr Type kType = Type::kGrowthAnswer;
  std::uint32_t request;
  Growth answer;
  std::uint32_t gpu;
  std::uint32_t reserved = 0;
  std::uint64_t credit;
};

struct OpenGate {
  static constexpr Type kType = Type::kOpenGate;
  std::uint32_t serial;
  std::uint32_t reserved = 0;
};

// submissions: how many are admitted before the gate closes. Other than 0 only for a closed gate,
// and ignored if memory was allocated behind it.
struct CloseGate {
  static constexpr Type kType = Type::kCloseGate;
  std::uint32_t serial;
  std::uint32_t drain_limit_us;
  std::uint32_t report_after_us;  // then Draining is sent
  std::uint32_t submissions;
};

// Orders the client, whose gate is closed, to release at least `bytes` of physical memory of
// `gpu`, or all that is swappable. Cancels a SwapIn in progress.
struct Evict {
  static constexpr Type kType = Type::kEvict;
  std::uint32_t serial;
  std::uint32_t gpu;
  std::uint64_t bytes;
};

// Orders the client to swap in all memory on all GPUs, as fast as credit arrives.
struct SwapIn {
  static constexpr Type kType = Type::kSwapIn;
  std::uint32_t serial;
  std::uint32_t reserved = 0;
};

// Allows the client to hold `bytes` more physical memory of `gpu`.
struct Credit {
  static constexpr Type kType = Type::kCredit;
  std::uint32_t gpu;
  std::uint32_t reserved = 0;
  std::uint64_t bytes;
};

// waiting = 1: another client waits for this GPU; bound the queue and report idleness.
struct Contention {
  static constexpr Type kType = Type::kContention;
  std::uint32_t waiting;
  std::uint32_t idle_after_us;
};

// Replaces Welcome::queue_bound_us; bounds the queue even without contention if `always` is 1.
struct QueueBound {
  static constexpr Type kType = Type::kQueueBound;
  static constexpr std::uint16_t kSince = 3;
  std::uint32_t bound_us;
  std::uint32_t always;
};

// Orders the client, whose gate is closed and whose memory is evicted, to take its contexts and
// pinned memory off all GPUs.
struct ReleaseContexts {
  static constexpr Type kType = Type::kReleaseContexts;
  static constexpr std::uint16_t kSince = 3;
  std::uint32_t serial;
  std::uint32_t reserved = 0;
};

// Orders them back. The client has credit for all that it took off.
struct RestoreContexts {
  static constexpr Type kType = Type::kRestoreContexts;
  static constexpr std::uint16_t kSince = 3;
  std::uint32_t serial;
  std::uint32_t reserved = 0;
};

// Other clients have arrived: pin `bytes` of host memory ahead of the first eviction.
struct PrepareArena {
  static constexpr Type kType = Type::kPrepareArena;
  std::uint64_t bytes;
};

// Reason why this client waits, printed on its stderr. Sent when the reason changes.
struct WaitMessage {
  static constexpr Type kType = Type::kWaitMessage;
  char text[200];
};

// ---- command line ----

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
