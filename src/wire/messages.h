// The messages between a client, the daemon and the command line. docs/protocol.md tells the story;
// this header is the layout.
//
// Transport: a Unix SOCK_SEQPACKET socket, one message a packet, host byte order (both ends are on
// one machine). A packet is a Header and the body of its type, never more and never less, except
// kText, whose body is as long as the packet says. Every struct is plain data without padding
// (asserted in messages.cc), strings are NUL-terminated within their arrays.
//
// This room is part of libreveza.so: libc and header-only C++ only.
// Thread-safety: values; no shared state.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reveza::wire {

inline constexpr std::uint32_t kMagic = 0x5a565652;  // "RVVZ"
// A change of any layout or meaning below raises kVersion. A daemon answers a client of another
// version with Refused{kWrongVersion}; the client then runs on without it.
inline constexpr std::uint16_t kVersion = 1;
inline constexpr std::size_t kMaxPacket = 32 * 1024;
inline constexpr std::uint32_t kMaxGpus = 16;
// No message may name more bytes than this (a petabyte): what does is not a size.
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 50;

enum class Type : std::uint16_t {
  // client to daemon
  kHello = 1,
  kContextWanted,
  kContextMade,
  kGrowthWanted,
  kAccount,
  kGateWanted,
  kIdle,
  kGateClosed,
  kDrainFailed,
  kEvicted,
  kSwappedIn,
  kResumed,
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
  kWhy,
  // command line to daemon, and the answer
  kStatusRequest = 128,
  kTraceRequest,
  kStopRequest,
  kText,
};

struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  Type type;
};

// ---- client to daemon ----

enum HelloFlags : std::uint32_t {
  kHelloResident = 1u << 0,  // `--resident`: native allocations, never swapped
  kHelloResuming = 1u << 1,  // the client lived before this daemon did: kResumed follows, one a GPU
};

// First message of a client. The daemon takes pid and uid from the socket's credentials.
struct Hello {
  static constexpr Type kType = Type::kHello;
  std::uint64_t job;  // the same for all clients of one `reveza run`; never 0
  std::uint32_t flags;
  std::uint32_t gate_open;  // 1: resuming with an open gate
  char name[64];
  char command[192];
};

// Before the first context on a GPU. The daemon answers kContextAdmitted when there is room and
// no other client of the GPU is between the two messages; until then the client waits.
struct ContextWanted {
  static constexpr Type kType = Type::kContextWanted;
  std::uint8_t uuid[16];
  std::uint64_t total;  // bytes of memory of the card, as the driver says
};

// The context exists (or failed: overhead 0). overhead: bytes of GPU memory that it took.
struct ContextMade {
  static constexpr Type kType = Type::kContextMade;
  std::uint32_t gpu;
  std::uint32_t reserved;
  std::uint64_t overhead;
};

enum class GrowthKind : std::uint32_t { kSwappable = 0, kPinned = 1 };

// The client needs `bytes` more physical memory; a thread waits for kGrowthAnswer{request}.
struct GrowthWanted {
  static constexpr Type kType = Type::kGrowthWanted;
  std::uint32_t request;
  std::uint32_t gpu;
  GrowthKind kind;
  std::uint32_t reserved;
  std::uint64_t bytes;
};

// The client's books for one GPU, whole, after any change; credit_returned is what it gives back
// with this message. Sent per copied piece during an eviction, so that the next client can follow.
struct Account {
  static constexpr Type kType = Type::kAccount;
  std::uint32_t gpu;
  std::uint32_t reserved;
  std::uint64_t credit_returned;
  std::uint64_t resident;  // swappable, in physical GPU memory
  std::uint64_t swapped;   // swappable, not in GPU memory (with or without a host copy)
  std::uint64_t pinned;    // cannot be moved: pools, arrays, exports, managed memory
  std::uint64_t context;   // contexts of this client, as measured
  std::uint64_t arena;     // host memory pinned for swapping, over all GPUs
};

// A thread has come to the closed gate. Once for each time that the gate closes.
struct GateWanted {
  static constexpr Type kType = Type::kGateWanted;
};

// Under contention: nothing was submitted and the queue was empty for Contention::idle_after_us.
struct Idle {
  static constexpr Type kType = Type::kIdle;
};

struct GateClosed {
  static constexpr Type kType = Type::kGateClosed;
  std::uint32_t serial;    // of the CloseGate it answers
  std::uint32_t gate_us;   // until the last thread had left the gate
  std::uint32_t drain_us;  // until the queue was empty
  std::uint32_t reserved;
};

enum class DrainFailure : std::uint32_t {
  kLimit = 0,      // work on the GPU did not end within the limit
  kCapture = 1,    // a stream capture is in progress
  kInsideCall = 2  // a thread did not come out of a driver call within the limit
};

// The gate is open again; the daemon tries later.
struct DrainFailed {
  static constexpr Type kType = Type::kDrainFailed;
  std::uint32_t serial;
  DrainFailure reason;
  std::uint32_t waited_us;
  std::uint32_t reserved;
};

enum class EvictFailure : std::uint32_t { kNone = 0, kHostMemory = 1, kDriver = 2 };

// End of an eviction. Bytes were returned by the Account messages before it.
struct Evicted {
  static constexpr Type kType = Type::kEvicted;
  std::uint32_t serial;
  std::uint32_t gpu;
  std::uint64_t freed;   // physical bytes given back
  std::uint64_t copied;  // of which went over the link
  std::uint32_t out_us;
  EvictFailure failure;
};

// Everything of this client is in GPU memory; its gate is still closed.
struct SwappedIn {
  static constexpr Type kType = Type::kSwappedIn;
  std::uint32_t serial;
  std::uint32_t in_us;  // from the first credit to the last byte
  std::uint64_t copied;
};

// After Hello with kHelloResuming, for each GPU with a context. The answer is kContextAdmitted.
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

// ---- daemon to client ----

struct Welcome {
  static constexpr Type kType = Type::kWelcome;
  std::uint64_t client;  // the daemon's number for it
  std::uint32_t drain_limit_us;
  std::uint32_t queue_bound_us;  // GPU work that may be queued while somebody waits
};

enum class RefusedReason : std::uint32_t { kWrongVersion = 0, kProtocol = 1, kFull = 2, kUser = 3 };

struct Refused {
  static constexpr Type kType = Type::kRefused;
  RefusedReason reason;
  std::uint32_t version;  // what the daemon speaks
  char text[120];
};

struct ContextAdmitted {
  static constexpr Type kType = Type::kContextAdmitted;
  std::uint8_t uuid[16];
  std::uint32_t gpu;  // the number that all later messages use
  std::uint32_t reserved;
  std::uint64_t budget;  // what the client may believe the card to have
  // Reserved for the context; ContextMade settles it. Sent again after ContextMade when the daemon
  // could measure what the context took. 0: nothing new (the answer to Resumed).
  std::uint64_t credit;
  std::uint64_t granule;  // ask for no less than this at a time, to ask seldom
};

enum class Growth : std::uint32_t {
  kRefused = 0,  // out of memory
  kGranted = 1,  // `credit` more bytes of physical memory may be held
  kLater = 2,    // the gate is closing: no credit; allocate virtually, or ask again when it is open
};

struct GrowthAnswer {
  static constexpr Type kType = Type::kGrowthAnswer;
  std::uint32_t request;
  Growth answer;
  std::uint32_t gpu;
  std::uint32_t reserved;
  std::uint64_t credit;
};

struct OpenGate {
  static constexpr Type kType = Type::kOpenGate;
  std::uint32_t serial;
  std::uint32_t reserved;
};

struct CloseGate {
  static constexpr Type kType = Type::kCloseGate;
  std::uint32_t serial;
  std::uint32_t drain_limit_us;
};

// Gate is closed: give back at least `bytes` of physical memory of `gpu`, or all that can move.
// Ends a SwapIn that is under way.
struct Evict {
  static constexpr Type kType = Type::kEvict;
  std::uint32_t serial;
  std::uint32_t gpu;
  std::uint64_t bytes;
};

// Bring everything in, on all GPUs, as fast as credit comes.
struct SwapIn {
  static constexpr Type kType = Type::kSwapIn;
  std::uint32_t serial;
  std::uint32_t reserved;
};

// The client may hold `bytes` more physical memory of `gpu`.
struct Credit {
  static constexpr Type kType = Type::kCredit;
  std::uint32_t gpu;
  std::uint32_t reserved;
  std::uint64_t bytes;
};

// waiting 1: another client waits for this one's GPU. Bound the queue, report idleness.
struct Contention {
  static constexpr Type kType = Type::kContention;
  std::uint32_t waiting;
  std::uint32_t idle_after_us;
};

// Others have come: have `bytes` of pinned host memory ready before they are needed.
struct PrepareArena {
  static constexpr Type kType = Type::kPrepareArena;
  std::uint64_t bytes;
};

// Why this client waits, for its stderr. Sent when the reason changes.
struct Why {
  static constexpr Type kType = Type::kWhy;
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
  std::uint32_t force;  // 1: although clients are connected (they run on without a daemon)
  std::uint32_t reserved;
};

// One part of a text answer (JSON); `bytes` characters follow. The last part has last = 1.
struct TextHeader {
  static constexpr Type kType = Type::kText;
  std::uint32_t last;
  std::uint32_t bytes;
};

}  // namespace reveza::wire
