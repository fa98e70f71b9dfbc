// Whatever comes through the socket: a packet is refused, or every field of it is in its bounds
// and it is exactly what Encode would write.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "wire/codec.h"
#include "wire/messages.h"

namespace {

using namespace reveza::wire;

void Require(bool holds) {
  if (!holds) std::abort();
}

template <typename T>
void CheckBack(const std::uint8_t* packet, std::size_t size) {
  char again[kPacketSize<T>];
  Require(Encode(View<T>(packet), again) == size);
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
      CheckBack<Hello>(data, size);
      break;
    }
    case Type::kAccount: {
      const auto account = View<Account>(data);
      Require(account.gpu < kMaxGpus && account.resident <= kMaxBytes);
      Require(account.credit_returned <= kMaxBytes && account.arena <= kMaxBytes);
      CheckBack<Account>(data, size);
      break;
    }
    case Type::kEvicted:
      Require(View<Evicted>(data).gpu < kMaxGpus);
      CheckBack<Evicted>(data, size);
      break;
    case Type::kGrowthWanted:
      Require(View<GrowthWanted>(data).bytes <= kMaxBytes);
      CheckBack<GrowthWanted>(data, size);
      break;
    case Type::kResumed:
      Require(View<Resumed>(data).credit <= kMaxBytes);
      CheckBack<Resumed>(data, size);
      break;
    case Type::kText:
      Require(View<TextHeader>(data).bytes + kPacketSize<TextHeader> == size);
      break;
    default:
      Require(size <= kMaxPacket && size >= sizeof(Header));
  }
  return 0;
}
