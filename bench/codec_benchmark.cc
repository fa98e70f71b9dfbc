// Measures encoding and decoding of the messages of a handover, which sends one Account per copied
// piece.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "reveza/gpu/wire/codec.h"
#include "reveza/gpu/wire/messages.h"

namespace {

namespace wire = reveza::wire;

void EncodeAccount(benchmark::State& state) {
  unsigned char packet[wire::kPacketSize<wire::Account>];
  benchmark::DoNotOptimize(static_cast<void*>(packet));
  wire::Account account{};
  account.resident = 12ull << 30;
  for (auto _ : state) {
    benchmark::DoNotOptimize(account.credit_returned += 64 << 20);
    benchmark::DoNotOptimize(wire::Encode(account, packet));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(EncodeAccount);

void ReadAccount(benchmark::State& state) {
  unsigned char packet[wire::kPacketSize<wire::Account>];
  wire::Account account{};
  account.resident = 12ull << 30;
  const std::size_t size = wire::Encode(account, packet);
  for (auto _ : state) {
    wire::Type type{};
    if (wire::Validate(packet, size, &type) != wire::DecodeError::kNone) {
      state.SkipWithError("a good packet was refused");
      break;
    }
    benchmark::DoNotOptimize(wire::View<wire::Account>(packet));
  }
}
BENCHMARK(ReadAccount);

void RefuseGarbage(benchmark::State& state) {
  unsigned char packet[64] = {};
  for (auto _ : state) {
    wire::Type type{};
    benchmark::DoNotOptimize(wire::Validate(packet, sizeof packet, &type));
  }
}
BENCHMARK(RefuseGarbage);

}  // namespace

BENCHMARK_MAIN();
