#include "reveza/gpu/wire/codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace reveza::wire {
namespace codec_test {

// Returns a valid message of each type; zero is valid for most fields.
template <typename T>
T Valid() {
  T body{};
  if constexpr (std::is_same_v<T, Hello>) body.job = 7;
  if constexpr (std::is_same_v<T, ContextRequested> || std::is_same_v<T, Resumed>) {
    body.total = 1 << 20;
  }
  if constexpr (std::is_same_v<T, MpsRequest>) {
    body.job = 7;
    body.weight = kWeightUnit;
  }
  return body;
}

template <typename T>
std::vector<char> Packet(const T& body) {
  std::vector<char> packet(kPacketSize<T>);
  EXPECT_EQ(Encode(body, packet.data()), packet.size());
  return packet;
}

template <typename T>
DecodeError Decode(const T& body) {
  Type type{};
  const auto packet = Packet(body);
  return Validate(packet.data(), packet.size(), &type);
}

// Expects kField for a valid message after `corrupt` has modified it.
template <typename T>
void ExpectRefused(const std::function<void(T&)>& corrupt) {
  T body = Valid<T>();
  ASSERT_EQ(Decode(body), DecodeError::kNone);
  corrupt(body);
  EXPECT_EQ(Decode(body), DecodeError::kField);
}

template <typename T>
class EveryMessage : public testing::Test {};

using AllMessages =
    testing::Types<Hello, ContextRequested, ContextCreated, GrowthRequested, Account, GateRequested,
                   Idle, GateClosed, DrainFailed, Draining, Evicted, SwappedIn, Resumed, Welcome,
                   Refused, ContextAdmitted, GrowthAnswer, OpenGate, CloseGate, Evict, SwapIn,
                   Credit, Contention, PrepareArena, WaitMessage, StatusRequest, TraceRequest,
                   StopRequest, Yield, Hold, Unchanged, Policy, ContextRefused, QueueBound,
                   JobRequest, ContextsReleased, ContextsRestored, ReleaseContexts, RestoreContexts,
                   MpsRequest, HostBacked, EventsRequest>;
TYPED_TEST_SUITE(EveryMessage, AllMessages);

TYPED_TEST(EveryMessage, RoundTrips) {
  const TypeParam body = Valid<TypeParam>();
  const auto packet = Packet(body);
  Type type{};
  ASSERT_EQ(Validate(packet.data(), packet.size(), &type), DecodeError::kNone);
  EXPECT_EQ(type, TypeParam::kType);
  if constexpr (!std::is_empty_v<TypeParam>) {
    const auto back = View<TypeParam>(packet.data());
    EXPECT_EQ(std::memcmp(&back, &body, sizeof(body)), 0);
  }
}

TYPED_TEST(EveryMessage, RejectsWrongSize) {
  auto packet = Packet(Valid<TypeParam>());
  packet.push_back(0);
  Type type = Type::kText;
  EXPECT_EQ(Validate(packet.data(), packet.size(), &type), DecodeError::kSize);
  for (std::size_t size = sizeof(Header); size + 1 < packet.size(); ++size) {
    EXPECT_EQ(Validate(packet.data(), size, &type), DecodeError::kSize);
  }
  EXPECT_EQ(type, Type::kText) << "rejected packets leave the type unset";
}

TYPED_TEST(EveryMessage, RejectsInvalidHeader) {
  const auto good = Packet(Valid<TypeParam>());
  Type type{};
  for (std::size_t size = 0; size < sizeof(Header); ++size) {
    EXPECT_EQ(Validate(good.data(), size, &type), DecodeError::kShort);
  }
  auto magic = good;
  magic[0] ^= 1;
  EXPECT_EQ(Validate(magic.data(), magic.size(), &type), DecodeError::kWrongMagic);
  for (const int other : {kMinVersion - 1, kVersion + 1}) {
    auto version = good;
    version[4] = static_cast<char>(other);
    EXPECT_EQ(Validate(version.data(), version.size(), &type), DecodeError::kWrongVersion);
    EXPECT_EQ(VersionOf(version.data()), other);
  }
  auto unknown = good;
  unknown[7] = 0x7f;
  EXPECT_EQ(Validate(unknown.data(), unknown.size(), &type), DecodeError::kType);
}

// Messages that are newer than the version of their header are unknown.
TYPED_TEST(EveryMessage, BelongsToItsVersions) {
  for (std::uint16_t version = kMinVersion; version <= kVersion; ++version) {
    std::vector<char> packet(kPacketSize<TypeParam>);
    Encode(Valid<TypeParam>(), packet.data(), version);
    Type type{};
    EXPECT_EQ(Validate(packet.data(), packet.size(), &type),
              IsKnownTo<TypeParam>(version) ? DecodeError::kNone : DecodeError::kType);
    EXPECT_EQ(VersionOf(packet.data()), version);
  }
}

template <typename T>
void ExpectGpuChecked() {
  ExpectRefused<T>([](T& m) { m.gpu = kMaxGpus; });
}

TEST(Codec, GpuNumbersAreBounded) {
  ExpectGpuChecked<ContextCreated>();
  ExpectGpuChecked<GrowthRequested>();
  ExpectGpuChecked<Account>();
  ExpectGpuChecked<Evicted>();
  ExpectGpuChecked<ContextAdmitted>();
  ExpectGpuChecked<GrowthAnswer>();
  ExpectGpuChecked<Evict>();
  ExpectGpuChecked<Credit>();
  ExpectGpuChecked<HostBacked>();
}

TEST(Codec, ByteCountsAreBounded) {
  constexpr std::uint64_t over = kMaxBytes + 1;
  ExpectRefused<ContextRequested>([](auto& m) { m.total = over; });
  ExpectRefused<ContextCreated>([](auto& m) { m.overhead = over; });
  ExpectRefused<GrowthRequested>([](auto& m) { m.bytes = over; });
  ExpectRefused<Account>([](auto& m) { m.credit_returned = over; });
  ExpectRefused<Account>([](auto& m) { m.resident = over; });
  ExpectRefused<Account>([](auto& m) { m.swapped = over; });
  ExpectRefused<Account>([](auto& m) { m.pinned = over; });
  ExpectRefused<Account>([](auto& m) { m.context = over; });
  ExpectRefused<Account>([](auto& m) { m.arena = over; });
  ExpectRefused<Evicted>([](auto& m) { m.freed = over; });
  ExpectRefused<Evicted>([](auto& m) { m.copied = over; });
  ExpectRefused<SwappedIn>([](auto& m) { m.copied = over; });
  ExpectRefused<Resumed>([](auto& m) { m.total = over; });
  ExpectRefused<Resumed>([](auto& m) { m.resident = over; });
  ExpectRefused<Resumed>([](auto& m) { m.swapped = over; });
  ExpectRefused<Resumed>([](auto& m) { m.pinned = over; });
  ExpectRefused<Resumed>([](auto& m) { m.context = over; });
  ExpectRefused<Resumed>([](auto& m) { m.credit = over; });
  ExpectRefused<ContextAdmitted>([](auto& m) { m.budget = over; });
  ExpectRefused<ContextAdmitted>([](auto& m) { m.credit = over; });
  ExpectRefused<ContextAdmitted>([](auto& m) { m.granule = over; });
  ExpectRefused<GrowthAnswer>([](auto& m) {
    m.answer = Growth::kGranted;
    m.credit = over;
  });
  ExpectRefused<Evict>([](auto& m) { m.bytes = over; });
  ExpectRefused<Credit>([](auto& m) { m.bytes = over; });
  ExpectRefused<PrepareArena>([](auto& m) { m.bytes = over; });
  ExpectRefused<Policy>([](auto& m) { m.request = over; });
  ExpectRefused<Policy>([](auto& m) { m.limit = over; });
  ExpectRefused<JobRequest>([](auto& m) { m.policy.limit = over; });
  Account largest = Valid<Account>();
  largest.resident = kMaxBytes;
  EXPECT_EQ(Decode(largest), DecodeError::kNone);
}

TEST(Codec, RejectsUnknownEnumValues) {
  ExpectRefused<GrowthRequested>([](auto& m) { m.kind = static_cast<GrowthKind>(2); });
  ExpectRefused<DrainFailed>([](auto& m) { m.reason = static_cast<DrainFailure>(3); });
  ExpectRefused<Evicted>([](auto& m) { m.failure = static_cast<EvictFailure>(3); });
  ExpectRefused<HostBacked>([](auto& m) { m.hot = m.bytes + 1; });
  ExpectRefused<HostBacked>([](auto& m) { m.bytes = kMaxBytes + 1; });
  ExpectRefused<HostBacked>([](auto& m) { m.promoted = kMaxBytes + 1; });
  ExpectRefused<HostBacked>([](auto& m) { m.demoted = kMaxBytes + 1; });
  ExpectRefused<HostBacked>([](auto& m) { m.pass_us = ~std::uint64_t{0}; });
  ExpectRefused<ContextsReleased>([](auto& m) { m.outcome = static_cast<ContextRelease>(3); });
  ExpectRefused<Refused>([](auto& m) { m.reason = static_cast<RefusedReason>(4); });
  ExpectRefused<GrowthAnswer>([](auto& m) { m.answer = static_cast<Growth>(3); });
}

TEST(Codec, RejectsPoliciesOutOfRange) {
  ExpectRefused<Policy>([](auto& m) { m.priority = kMaxPriority + 1; });
  ExpectRefused<Policy>([](auto& m) { m.fields = kPolicyWeight; });
  Policy weighted{};
  weighted.fields = kPolicyWeight;
  weighted.weight = 1;
  EXPECT_EQ(Decode(weighted), DecodeError::kNone);
}

TEST(Codec, RejectsUnknownFlags) {
  ExpectRefused<Hello>([](auto& m) { m.gate_open = 2; });
  ExpectRefused<Hello>([](auto& m) { m.flags = 1u << 4; });
  ExpectRefused<Contention>([](auto& m) { m.waiting = 2; });
  ExpectRefused<StopRequest>([](auto& m) { m.force = 2; });
  ExpectRefused<Hold>([](auto& m) { m.on = 2; });
  ExpectRefused<HostBacked>([](auto& m) { m.full = 2; });
  ExpectRefused<QueueBound>([](auto& m) { m.always = 2; });
  ExpectRefused<Policy>([](auto& m) { m.fields = 1u << 5; });
  ExpectRefused<Policy>([](auto& m) { m.interactive = 2; });
  ExpectRefused<Policy>([](auto& m) { m.paused = 2; });
}

TEST(Codec, RejectsNonZeroReservedFields) {
  ExpectRefused<ContextCreated>([](auto& m) { m.reserved = 1; });
  ExpectRefused<GrowthRequested>([](auto& m) { m.reserved = 1; });
  ExpectRefused<Account>([](auto& m) { m.reserved = 1; });
  ExpectRefused<GateClosed>([](auto& m) { m.reserved = 1; });
  ExpectRefused<DrainFailed>([](auto& m) { m.reserved = 1; });
  ExpectRefused<Draining>([](auto& m) { m.reserved = 1; });
  ExpectRefused<ContextAdmitted>([](auto& m) { m.reserved = 1; });
  ExpectRefused<GrowthAnswer>([](auto& m) { m.reserved = 1; });
  ExpectRefused<OpenGate>([](auto& m) { m.reserved = 1; });
  ExpectRefused<SwapIn>([](auto& m) { m.reserved = 1; });
  ExpectRefused<Credit>([](auto& m) { m.reserved = 1; });
  ExpectRefused<StopRequest>([](auto& m) { m.reserved = 1; });
  ExpectRefused<Hold>([](auto& m) { m.reserved = 1; });
  ExpectRefused<ContextsRestored>([](auto& m) { m.reserved = 1; });
  ExpectRefused<ReleaseContexts>([](auto& m) { m.reserved = 1; });
  ExpectRefused<RestoreContexts>([](auto& m) { m.reserved = 1; });
  ExpectRefused<Policy>([](auto& m) { m.reserved = 1; });
}

TEST(Codec, RejectsUnterminatedStrings) {
  ExpectRefused<Hello>([](auto& m) { std::memset(m.name, 'x', sizeof(m.name)); });
  ExpectRefused<Hello>([](auto& m) { std::memset(m.command, 'x', sizeof(m.command)); });
  ExpectRefused<Refused>([](auto& m) { std::memset(m.text, 'x', sizeof(m.text)); });
  ExpectRefused<WaitMessage>([](auto& m) { std::memset(m.text, 'x', sizeof(m.text)); });
  ExpectRefused<ContextRefused>([](auto& m) { std::memset(m.text, 'x', sizeof(m.text)); });
  ExpectRefused<JobRequest>([](auto& m) { std::memset(m.name, 'x', sizeof(m.name)); });
}

TEST(Codec, RejectsZeroJobAndTotal) {
  ExpectRefused<Hello>([](auto& m) { m.job = 0; });
  ExpectRefused<MpsRequest>([](auto& m) { m.job = 0; });
  ExpectRefused<MpsRequest>([](auto& m) { m.weight = 0; });
  ExpectRefused<ContextRequested>([](auto& m) { m.total = 0; });
  ExpectRefused<Resumed>([](auto& m) { m.total = 0; });
}

TEST(Codec, RejectsCreditWithoutGrant) {
  ExpectRefused<GrowthAnswer>([](auto& m) {
    m.answer = Growth::kLater;
    m.credit = 1;
  });
  ExpectRefused<GrowthAnswer>([](auto& m) {
    m.answer = Growth::kRefused;
    m.credit = 1;
  });
}

TEST(Codec, TextLengthMustMatchHeader) {
  const std::string text = "{\"ok\":true}";
  std::vector<char> packet(kPacketSize<TextHeader>);
  Encode(TextHeader{1, static_cast<std::uint32_t>(text.size())}, packet.data());
  packet.insert(packet.end(), text.begin(), text.end());
  Type type{};
  ASSERT_EQ(Validate(packet.data(), packet.size(), &type), DecodeError::kNone);
  EXPECT_EQ(type, Type::kText);
  EXPECT_EQ(Validate(packet.data(), packet.size() - 1, &type), DecodeError::kSize);
  EXPECT_EQ(Validate(packet.data(), sizeof(Header) + 4, &type), DecodeError::kSize);
  packet[sizeof(Header)] = 2;
  EXPECT_EQ(Validate(packet.data(), packet.size(), &type), DecodeError::kField);
}

TEST(Codec, RejectsPacketsAboveMaximum) {
  std::vector<char> packet(kMaxPacket + 1);
  Encode(TextHeader{1, static_cast<std::uint32_t>(packet.size() - kPacketSize<TextHeader>)},
         packet.data());
  Type type{};
  EXPECT_EQ(Validate(packet.data(), packet.size(), &type), DecodeError::kSize);
  packet.pop_back();
  Encode(TextHeader{1, static_cast<std::uint32_t>(packet.size() - kPacketSize<TextHeader>)},
         packet.data());
  EXPECT_EQ(Validate(packet.data(), packet.size(), &type), DecodeError::kNone);
}

TEST(Codec, EveryErrorHasADistinctText) {
  std::vector<std::string> seen;
  for (int error = 0; error <= static_cast<int>(DecodeError::kField); ++error) {
    const std::string text = ToText(static_cast<DecodeError>(error));
    EXPECT_EQ(std::count(seen.begin(), seen.end(), text), 0) << text;
    seen.push_back(text);
  }
}

TEST(CopyText, TruncatesToCapacity) {
  char out[4] = {'x', 'x', 'x', 'x'};
  CopyText(out, sizeof(out), "ab");
  EXPECT_STREQ(out, "ab");
  CopyText(out, sizeof(out), "abcdef");
  EXPECT_STREQ(out, "abc");
  CopyText(out, 1, "abc");
  EXPECT_STREQ(out, "");
  out[0] = 'y';
  CopyText(out, 0, "abc");
  EXPECT_EQ(out[0], 'y');
}

}  // namespace codec_test
}  // namespace reveza::wire
