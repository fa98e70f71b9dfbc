// Messages of the daemon to clients.
// Layout and transport are those of protocol.h.
#pragma once

#include <cstdint>

#include "reveza/gpu/wire/protocol.h"

namespace reveza::wire {

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

}  // namespace reveza::wire
