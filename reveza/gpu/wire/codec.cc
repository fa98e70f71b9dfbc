#include "reveza/gpu/wire/codec.h"

namespace reveza::wire {
namespace {

constexpr bool IsSize(std::uint64_t bytes) { return bytes <= kMaxBytes; }
// An estimate in a message: a year.
constexpr std::uint64_t kMaxMicroseconds = std::uint64_t{365} * 86'400 * 1'000'000;

constexpr bool IsGpu(std::uint32_t gpu) { return gpu < kMaxGpus; }
constexpr bool IsFlag(std::uint32_t value) { return value <= 1; }

template <std::size_t N>
bool IsTerminated(const char (&text)[N]) {
  return std::memchr(text, '\0', N) != nullptr;
}

// ---- field ranges of each message ----
//
// An enum in a packet may hold any value of its underlying type, hence the comparisons.

template <typename T>
  requires std::is_empty_v<T>
bool IsValid(const T&) {
  return true;
}
bool IsValid(const Hello& m) {
  constexpr std::uint32_t known =
      kHelloResident | kHelloResuming | kHelloMovableContexts | kHelloHostBacked;
  return m.job != 0 && (m.flags & ~known) == 0 && IsFlag(m.gate_open) && IsTerminated(m.name) &&
         IsTerminated(m.command);
}
bool IsValid(const ContextRequested& m) { return m.total != 0 && IsSize(m.total); }
bool IsValid(const ContextCreated& m) {
  return IsGpu(m.gpu) && m.reserved == 0 && IsSize(m.overhead);
}
bool IsValid(const GrowthRequested& m) {
  return IsGpu(m.gpu) && m.kind <= GrowthKind::kPinned && m.reserved == 0 && IsSize(m.bytes);
}
bool IsValid(const Account& m) {
  return IsGpu(m.gpu) && m.reserved == 0 && IsSize(m.credit_returned) && IsSize(m.resident) &&
         IsSize(m.swapped) && IsSize(m.pinned) && IsSize(m.context) && IsSize(m.arena);
}
bool IsValid(const GateClosed& m) { return m.reserved == 0; }
bool IsValid(const DrainFailed& m) {
  return m.reason <= DrainFailure::kInsideCall && m.reserved == 0;
}
bool IsValid(const Draining& m) { return m.reserved == 0; }
bool IsValid(const Hold& m) { return IsFlag(m.on) && m.reserved == 0; }
bool IsValid(const Policy& m) {
  constexpr std::uint32_t known =
      kPolicyWeight | kPolicyPriority | kPolicyInteractive | kPolicyMemory | kPolicyPaused;
  return (m.fields & ~known) == 0 && (m.weight > 0 || (m.fields & kPolicyWeight) == 0) &&
         m.priority <= kMaxPriority && IsFlag(m.interactive) && IsFlag(m.paused) &&
         m.reserved == 0 && IsSize(m.request) && IsSize(m.limit);
}
bool IsValid(const ContextsReleased& m) { return m.outcome <= ContextRelease::kRefused; }
bool IsValid(const ContextsRestored& m) { return m.reserved == 0; }
bool IsValid(const Evicted& m) {
  return IsGpu(m.gpu) && IsSize(m.freed) && IsSize(m.copied) && m.failure <= EvictFailure::kDriver;
}
bool IsValid(const Unchanged& m) { return IsGpu(m.gpu) && IsSize(m.bytes); }
bool IsValid(const HostBacked& m) {
  return IsGpu(m.gpu) && IsFlag(m.full) && IsSize(m.bytes) && m.hot <= m.bytes &&
         IsSize(m.promoted) && IsSize(m.demoted) && m.pass_us <= kMaxMicroseconds;
}
bool IsValid(const SwappedIn& m) { return IsSize(m.copied); }
bool IsValid(const Resumed& m) {
  return m.total != 0 && IsSize(m.total) && IsSize(m.resident) && IsSize(m.swapped) &&
         IsSize(m.pinned) && IsSize(m.context) && IsSize(m.credit);
}

bool IsValid(const Welcome&) { return true; }
bool IsValid(const Refused& m) { return m.reason <= RefusedReason::kUser && IsTerminated(m.text); }
bool IsValid(const ContextAdmitted& m) {
  return IsGpu(m.gpu) && m.reserved == 0 && IsSize(m.budget) && IsSize(m.credit) &&
         IsSize(m.granule);
}
bool IsValid(const GrowthAnswer& m) {
  return m.answer <= Growth::kLater && IsGpu(m.gpu) && m.reserved == 0 && IsSize(m.credit) &&
         (m.answer == Growth::kGranted || m.credit == 0);
}
bool IsValid(const OpenGate& m) { return m.reserved == 0; }
bool IsValid(const CloseGate&) { return true; }
bool IsValid(const Evict& m) { return IsGpu(m.gpu) && IsSize(m.bytes); }
bool IsValid(const SwapIn& m) { return m.reserved == 0; }
bool IsValid(const Credit& m) { return IsGpu(m.gpu) && m.reserved == 0 && IsSize(m.bytes); }
bool IsValid(const Contention& m) { return IsFlag(m.waiting); }
bool IsValid(const ContextRefused& m) { return IsTerminated(m.text); }
bool IsValid(const QueueBound& m) { return IsFlag(m.always); }
bool IsValid(const ReleaseContexts& m) { return m.reserved == 0; }
bool IsValid(const RestoreContexts& m) { return m.reserved == 0; }
bool IsValid(const PrepareArena& m) { return IsSize(m.bytes); }
bool IsValid(const WaitMessage& m) { return IsTerminated(m.text); }

bool IsValid(const StopRequest& m) { return IsFlag(m.force) && m.reserved == 0; }

bool IsValid(const JobRequest& m) { return IsValid(m.policy) && IsTerminated(m.name); }

bool IsValid(const EventsRequest&) { return true; }
bool IsValid(const MpsRequest& m) { return m.job != 0 && m.weight > 0 && m.reserved == 0; }

template <typename T>
constexpr bool IsPlain() {
  return std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
         kPacketSize<T> <= kMaxPacket &&
         (std::is_empty_v<T> || std::has_unique_object_representations_v<T>);
}
static_assert(IsPlain<TextHeader>() && sizeof(Header) == 8 &&
              std::has_unique_object_representations_v<Header>);

template <typename T>
DecodeError Check(const void* packet, std::size_t size) {
  static_assert(IsPlain<T>());
  if (size != kPacketSize<T>) return DecodeError::kSize;
  return IsValid(View<T>(packet)) ? DecodeError::kNone : DecodeError::kField;
}

DecodeError CheckText(const void* packet, std::size_t size) {
  if (size < kPacketSize<TextHeader>) return DecodeError::kSize;
  const auto header = View<TextHeader>(packet);
  if (!IsFlag(header.last)) return DecodeError::kField;
  return size - kPacketSize<TextHeader> == header.bytes ? DecodeError::kNone : DecodeError::kSize;
}

// Checks a packet whose type is one of T.
template <typename... T>
DecodeError CheckOneOf(const Header& header, const void* packet, std::size_t size) {
  DecodeError error = DecodeError::kType;
  static_cast<void>(((header.type == T::kType && IsKnownTo<T>(header.version) &&
                      (error = Check<T>(packet, size), true)) ||
                     ...));
  return error;
}

DecodeError CheckBody(const Header& header, const void* packet, std::size_t size) {
  if (header.type == Type::kText) return CheckText(packet, size);
  return CheckOneOf<Hello, ContextRequested, ContextCreated, GrowthRequested, Account,
                    GateRequested, Idle, GateClosed, DrainFailed, Draining, Evicted, SwappedIn,
                    Resumed, Welcome, Refused, ContextAdmitted, GrowthAnswer, OpenGate, CloseGate,
                    Evict, SwapIn, Credit, Contention, PrepareArena, WaitMessage, StatusRequest,
                    TraceRequest, StopRequest, Yield, Hold, Unchanged, Policy, ContextRefused,
                    QueueBound, JobRequest, ContextsReleased, ContextsRestored, ReleaseContexts,
                    RestoreContexts, MpsRequest, HostBacked, EventsRequest>(header, packet, size);
}

}  // namespace

const char* ToText(DecodeError error) {
  static constexpr const char* kTexts[] = {
      "well-formed",          "shorter than a header",
      "not a Reveza message", "unsupported protocol version",
      "unknown message type", "size does not match the message type",
      "field out of range",
  };
  return kTexts[static_cast<std::size_t>(error)];
}

DecodeError Validate(const void* packet, std::size_t size, Type* type) {
  if (size < sizeof(Header)) return DecodeError::kShort;
  if (size > kMaxPacket) return DecodeError::kSize;
  Header header;
  std::memcpy(&header, packet, sizeof(header));
  if (header.magic != kMagic) return DecodeError::kWrongMagic;
  if (header.version < kMinVersion || header.version > kVersion) {
    return DecodeError::kWrongVersion;
  }
  const DecodeError error = CheckBody(header, packet, size);
  if (error == DecodeError::kNone) *type = header.type;
  return error;
}

std::uint16_t VersionOf(const void* packet) {
  Header header;
  std::memcpy(&header, packet, sizeof(header));
  return header.version;
}

void CopyText(char* out, std::size_t capacity, const char* text) {
  if (capacity == 0) return;
  std::size_t length = 0;
  while (length + 1 < capacity && text[length] != '\0') ++length;
  std::memcpy(out, text, length);
  out[length] = '\0';
}

}  // namespace reveza::wire
