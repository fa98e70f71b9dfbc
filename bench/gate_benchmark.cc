// Measures the overhead of the open gate: the same empty function called directly and through it.
#include <benchmark/benchmark.h>

#include "reveza/gpu/interpose/gate.h"

namespace {

// Neither inlined nor visible to the optimizer, like a call into the driver.
__attribute__((noinline)) int DriverCall(int argument) {
  asm volatile("" : "+r"(argument));
  return argument;
}

void DirectCall(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(DriverCall(1));
}
BENCHMARK(DirectCall);

void GatedCall(benchmark::State& state) {
  for (auto _ : state) {
    const reveza::interpose::GateScope gate;
    benchmark::DoNotOptimize(DriverCall(1));
  }
}
BENCHMARK(GatedCall);
// Threads share nothing on the open path, so the cost must not grow with their number.
BENCHMARK(GatedCall)->Threads(2)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
