// Measures the search for minimum information partitions of 16 variables, over all 32,767
// bipartitions, on one core. bench/phi_measures.py compares it with NumPy.
//
// The upper bound for SubsetDeterminants is the rate of its products (each with a subtraction) in a
// loop without memory accesses, 8 per vector.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "phi/measures/minimum_partition.h"
#include "phi/measures/subset_determinants.h"
#include "phi/measures/testing_systems.h"
#include "phi/measures/window.h"

namespace reveza::phi {
namespace {

constexpr int kVariables = 16;
constexpr std::int64_t kRows = 500;

const std::vector<double>& Values() {
  static const std::vector<double> values = Simulated(RandomSystem(kVariables, 1), 2000, 1);
  return values;
}

SeriesView ViewFrom(std::int64_t first) {
  return SeriesView{Values().data(), 2000, kVariables, kVariables}.Part(first, kRows);
}

Instructions Processor(benchmark::State& state) {
  const auto wanted = static_cast<Instructions>(state.range(0));
  state.SetLabel(std::string(NameOf(wanted)));
  if (wanted > SupportedInstructions()) state.SkipWithError("not on this processor");
  return wanted;
}

void BM_Determinants(benchmark::State& state) {
  const auto estimate = EstimateModel(ViewFrom(0), {});
  const SubsetRows rows = {.group = 2, .in_begin = 0, .in_end = 2};
  const Instructions instructions = Processor(state);
  std::vector<double> determinants;
  for (auto _ : state) {
    SubsetDeterminants(estimate->model.joint(), kVariables, rows, instructions, determinants);
    benchmark::DoNotOptimize(determinants.data());
  }
  state.counters["products"] = benchmark::Counter(SubsetDeterminantProducts(kVariables, rows),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_Determinants)->DenseRange(0, 2)->Unit(benchmark::kMillisecond);

using Lanes [[gnu::vector_size(64)]] = double;

#if defined(__x86_64__)
__attribute__((target("avx512f")))
#endif
void ProductsWithoutMemory(double* out) {
  constexpr int kChains = 12;
  Lanes sums[kChains] = {};
  const Lanes factor = {.5, .6, .7, .8, .9, .4, .3, .2};
  for (int i = 0; i < kChains; ++i) sums[i] = factor * (i + 1.0);  // all different
#pragma GCC unroll 1
  for (int i = 0; i < 1000; ++i) {
#pragma GCC unroll 12
    for (auto& sum : sums) sum = sum * factor - factor;
  }
  for (const auto& sum : sums) out[0] += sum[0];
}

void BM_ProductsWithoutMemory(benchmark::State& state) {
  if (SupportedInstructions() != Instructions::kAvx512) state.SkipWithError("no AVX-512");
  double out = 0.0;
  for (auto _ : state) {
    ProductsWithoutMemory(&out);
    benchmark::DoNotOptimize(out);
  }
  state.counters["products"] =
      benchmark::Counter(1000.0 * 12 * 8, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_ProductsWithoutMemory);

// Computes the minimum partition of a window of 500 rows.
void BM_Window(benchmark::State& state, const std::vector<Measure>& measures) {
  const WindowOptions options = {.measures = measures, .minimum = SearchOptions{}};
  std::int64_t first = 0;
  for (auto _ : state) {
    const auto result = MeasureWindow(ViewFrom(first), options);
    if (!result) return state.SkipWithError(result.error().message.c_str());
    benchmark::DoNotOptimize(result->front().value);
    first = (first + 1) % 1000;
  }
}
BENCHMARK_CAPTURE(BM_Window, mi, {Measure::kMultiInformation})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Window, si, {Measure::kStochasticInteraction})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Window, wms, {Measure::kWholeMinusSum})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Window, mi_si_wms_phi_r,
                  {Measure::kMultiInformation, Measure::kStochasticInteraction,
                   Measure::kWholeMinusSum, Measure::kPhiR})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Window, phi_star, {Measure::kPhiStar})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Window, phi_g, {Measure::kPhiG})->Unit(benchmark::kMillisecond);

void BM_Complexes(benchmark::State& state) {
  const auto estimate = EstimateModel(ViewFrom(0), {});
  for (auto _ : state) {
    benchmark::DoNotOptimize(ComplexesOf(estimate->model, Measure::kStochasticInteraction));
  }
}
BENCHMARK(BM_Complexes)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace reveza::phi

BENCHMARK_MAIN();
