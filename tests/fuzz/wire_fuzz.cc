// Validates arbitrary packets. In a valid packet every field must be within its limits, and
// encoding it again for its version must give the same bytes.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "reveza/gpu/wire/codec.h"
#include "reveza/gpu/wire/messages.h"

namespace {

using namespace reveza::wire;

void Require(bool holds) {
  if (!holds) std::abort();
}

template <typename T>
void CheckRoundTrip(const std::uint8_t* packet, std::size_t size) {
  char again[kPacketSize<T>];
  Require(Encode(View<T>(packet), again, VersionOf(packet)) == size);
  Require(std::memcmp(again, packet, size) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Type type{};
  if (Validate(data, size, &type) != DecodeError::kNone) return 0;
  switch (type) {
    case Type::kHello: {
      const auto hello = View<Hello>(data);
      Require(hello.job != 0 && std::strlen(hello.name) < sizeof(hello.name));
      Require(std::strlen(hello.command) < sizeof(hello.command));
      CheckRoundTrip<Hello>(data, size);
      break;
    }
    case Type::kAccount: {
      const auto account = View<Account>(data);
      Require(account.gpu < kMaxGpus && account.resident <= kMaxBytes);
      Require(account.credit_returned <= kMaxBytes && account.arena <= kMaxBytes);
      CheckRoundTrip<Account>(data, size);
      break;
    }
    case Type::kHostBacked: {
      const auto on_host = View<HostBacked>(data);
      Require(on_host.gpu < kMaxGpus && on_host.bytes <= kMaxBytes && on_host.hot <= on_host.bytes);
      CheckRoundTrip<HostBacked>(data, size);
      break;
    }
    case Type::kEvicted:
      Require(View<Evicted>(data).gpu < kMaxGpus);
      CheckRoundTrip<Evicted>(data, size);
      break;
    case Type::kGrowthRequested:
      Require(View<GrowthRequested>(data).bytes <= kMaxBytes);
      CheckRoundTrip<GrowthRequested>(data, size);
      break;
    case Type::kResumed:
      Require(View<Resumed>(data).credit <= kMaxBytes);
      CheckRoundTrip<Resumed>(data, size);
      break;
    case Type::kText:
      Require(View<TextHeader>(data).bytes + kPacketSize<TextHeader> == size);
      break;
    default:
      Require(size <= kMaxPacket && size >= sizeof(Header));
  }
  return 0;
}
