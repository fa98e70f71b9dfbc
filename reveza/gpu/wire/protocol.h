// What the messages between clients, the daemon and the command line have in common, and those that
// go in both directions. The message flow is in docs/protocol.md.
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

}  // namespace reveza::wire
