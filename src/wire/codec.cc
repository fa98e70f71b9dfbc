#include "wire/codec.h"

namespace reveza::wire {
namespace {

constexpr bool IsSize(std::uint64_t bytes) { return bytes <= kMaxBytes; }
constexpr bool IsGpu(std::uint32_t gpu) { return gpu < kMaxGpus; }
constexpr bool IsFlag(std::uint32_t value) { return value <= 1; }

template <std::size_t N>
bool IsTerminated(const char (&text)[N]) {
  return std::memchr(text, '\0', N) != nullptr;
}

// ---- the bounds of each message ----
//
// An enum in a packet may hold any number of its underlying type; comparing it is the check.

bool IsValid(const Hello& m) {
  constexpr std::uint32_t known = kHelloResident | kHelloResuming;
  return m.job != 0 && (m.flags & ~known) == 0 && IsFlag(m.gate_open) && IsTerminated(m.name) &&
         IsTerminated(m.command);
}
bool IsValid(const ContextWanted& m) { return m.total != 0 && IsSize(m.total); }
bool IsValid(const ContextMade& m) { return IsGpu(m.gpu) && m.reserved == 0 && IsSize(m.overhead); }
bool IsValid(const GrowthWanted& m) {
  return IsGpu(m.gpu) && m.kind <= GrowthKind::kPinned && m.reserved == 0 && IsSize(m.bytes);
}
bool IsValid(const Account& m) {
  return IsGpu(m.gpu) && m.reserved == 0 && IsSize(m.credit_returned) && IsSize(m.resident) &&
         IsSize(m.swapped) && IsSize(m.pinned) && IsSize(m.context) && IsSize(m.arena);
}
bool IsValid(const GateWanted&) { return true; }
bool IsValid(const Idle&) { return true; }
bool IsValid(const GateClosed& m) { return m.reserved == 0; }
bool IsValid(const DrainFailed& m) {
  return m.reason <= DrainFailure::kInsideCall && m.reserved == 0;
}
bool IsValid(const Evicted& m) {
  return IsGpu(m.gpu) && IsSize(m.freed) && IsSize(m.copied) && m.failure <= EvictFailure::kDriver;
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
bool IsValid(const PrepareArena& m) { return IsSize(m.bytes); }
bool IsValid(const Why& m) { return IsTerminated(m.text); }

bool IsValid(const StatusRequest&) { return true; }
bool IsValid(const TraceRequest&) { return true; }
bool IsValid(const StopRequest& m) { return IsFlag(m.force) && m.reserved == 0; }

template <typename T>
DecodeError Check(const void* packet, std::size_t size) {
  if (size != kPacketSize<T>) return DecodeError::kSize;
  return IsValid(View<T>(packet)) ? DecodeError::kNone : DecodeError::kField;
}

DecodeError CheckText(const void* packet, std::size_t size) {
  if (size < kPacketSize<TextHeader>) return DecodeError::kSize;
  const auto header = View<TextHeader>(packet);
  if (!IsFlag(header.last)) return DecodeError::kField;
  return size - kPacketSize<TextHeader> == header.bytes ? DecodeError::kNone : DecodeError::kSize;
}

DecodeError CheckBody(Type type, const void* packet, std::size_t size) {
  switch (type) {
    case Type::kHello:
      return Check<Hello>(packet, size);
    case Type::kContextWanted:
      return Check<ContextWanted>(packet, size);
    case Type::kContextMade:
      return Check<ContextMade>(packet, size);
    case Type::kGrowthWanted:
      return Check<GrowthWanted>(packet, size);
    case Type::kAccount:
      return Check<Account>(packet, size);
    case Type::kGateWanted:
      return Check<GateWanted>(packet, size);
    case Type::kIdle:
      return Check<Idle>(packet, size);
    case Type::kGateClosed:
      return Check<GateClosed>(packet, size);
    case Type::kDrainFailed:
      return Check<DrainFailed>(packet, size);
    case Type::kEvicted:
      return Check<Evicted>(packet, size);
    case Type::kSwappedIn:
      return Check<SwappedIn>(packet, size);
    case Type::kResumed:
      return Check<Resumed>(packet, size);
    case Type::kWelcome:
      return Check<Welcome>(packet, size);
    case Type::kRefused:
      return Check<Refused>(packet, size);
    case Type::kContextAdmitted:
      return Check<ContextAdmitted>(packet, size);
    case Type::kGrowthAnswer:
      return Check<GrowthAnswer>(packet, size);
    case Type::kOpenGate:
      return Check<OpenGate>(packet, size);
    case Type::kCloseGate:
      return Check<CloseGate>(packet, size);
    case Type::kEvict:
      return Check<Evict>(packet, size);
    case Type::kSwapIn:
      return Check<SwapIn>(packet, size);
    case Type::kCredit:
      return Check<Credit>(packet, size);
    case Type::kContention:
      return Check<Contention>(packet, size);
    case Type::kPrepareArena:
      return Check<PrepareArena>(packet, size);
    case Type::kWhy:
      return Check<Why>(packet, size);
    case Type::kStatusRequest:
      return Check<StatusRequest>(packet, size);
    case Type::kTraceRequest:
      return Check<TraceRequest>(packet, size);
    case Type::kStopRequest:
      return Check<StopRequest>(packet, size);
    case Type::kText:
      return CheckText(packet, size);
  }
  return DecodeError::kType;
}

}  // namespace

const char* ToText(DecodeError error) {
  switch (error) {
    case DecodeError::kNone:
      return "well-formed";
    case DecodeError::kShort:
      return "shorter than a header";
    case DecodeError::kWrongMagic:
      return "not a message of Reveza";
    case DecodeError::kWrongVersion:
      return "another version of the protocol";
    case DecodeError::kType:
      return "an unknown type of message";
    case DecodeError::kSize:
      return "not the size of its type";
    case DecodeError::kField:
      return "a field out of its bounds";
  }
  return "unknown";
}

DecodeError Validate(const void* packet, std::size_t size, Type* type) {
  if (size < sizeof(Header)) return DecodeError::kShort;
  if (size > kMaxPacket) return DecodeError::kSize;
  Header header;
  std::memcpy(&header, packet, sizeof(header));
  if (header.magic != kMagic) return DecodeError::kWrongMagic;
  if (header.version != kVersion) return DecodeError::kWrongVersion;
  const DecodeError error = CheckBody(header.type, packet, size);
  if (error == DecodeError::kNone) *type = header.type;
  return error;
}

void CopyText(char* out, std::size_t capacity, const char* text) {
  if (capacity == 0) return;
  std::size_t length = 0;
  while (length + 1 < capacity && text[length] != '\0') ++length;
  std::memcpy(out, text, length);
  out[length] = '\0';
}

}  // namespace reveza::wire
