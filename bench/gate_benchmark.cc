// What the open gate adds to a call: the same empty function called directly and behind it.
#include <benchmark/benchmark.h>

#include "interpose/gate.h"

namespace {

// Not inlined, and opaque: as a call into the driver is.
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
// Threads do not share anything on the open path: the cost must not grow.
BENCHMARK(GatedCall)->Threads(2)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
