// The promises of messages.h that a compiler can check: plain data, no padding, room in a packet.
#include "wire/messages.h"

#include <type_traits>

#include "wire/codec.h"

namespace reveza::wire {
namespace {

template <typename T>
constexpr bool IsPlain() {
  return std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
         kPacketSize<T> <= kMaxPacket &&
         (std::is_empty_v<T> || std::has_unique_object_representations_v<T>);
}

template <typename... T>
constexpr bool AllPlain() {
  return (IsPlain<T>() && ...);
}

static_assert(sizeof(Header) == 8 && std::has_unique_object_representations_v<Header>);
static_assert(AllPlain<Hello, ContextWanted, ContextMade, GrowthWanted, Account, GateWanted, Idle,
                       GateClosed, DrainFailed, Evicted, SwappedIn, Resumed>());
static_assert(AllPlain<Welcome, Refused, ContextAdmitted, GrowthAnswer, OpenGate, CloseGate, Evict,
                       SwapIn, Credit, Contention, PrepareArena, Why>());
static_assert(AllPlain<StatusRequest, TraceRequest, StopRequest, TextHeader>());

}  // namespace
}  // namespace reveza::wire
