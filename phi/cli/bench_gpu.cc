#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "phi/cli/bench.h"
#include "phi/gpu/gpu_engine.h"

namespace reveza::phi {
namespace {

// Cycles between reads of the clock.
constexpr int kCyclesPerCall = 64;

// Normal numbers of one run-cycle. Per element: one for the base of sensory_input, six for the
// modules, one for the copy, eight for the writes. Those that enforce the minimum variance, which
// not every write needs, are not counted.
double NormalsOf(int dimension) { return 16.0 * dimension; }

// Lower bound of the time of one run-cycle, if arithmetic, random numbers and memory traffic do not
// overlap.
double MinSecondsPerRunCycle(const EngineSettings& settings, const GpuLimits& limits) {
  const double state = static_cast<double>(StateBytes(settings)) / settings.runs;
  return MultiplyAddsOf(settings.constants.dimension) / limits.multiply_adds +
         NormalsOf(settings.constants.dimension) / limits.normals + 2 * state / limits.copied;
}

// Upper bound of run-cycles per second: the arithmetic bound or, if lower, the launch bound of the
// kernels of a cycle.
double Limit(const GpuLimits& limits, double best, int runs, int graph) {
  const double starts = graph > 0 ? limits.graph_nodes : limits.launches;
  return std::min(best, starts / kGpuKernelsOfACycle * runs);
}

struct GpuFigure {
  int runs;
  int graph;
  std::vector<double> rate = {};  // run-cycles per second, by round
};

Status TimeOnGpu(const BenchArguments& bench, int device, EngineSettings settings,
                 GpuFigure& figure) {
  settings.runs = figure.runs;
  ASSIGN_OR_RETURN(auto engine,
                   MakeGpuEngine(settings, {.device = device, .graph_cycles = figure.graph}));
  std::vector<Observation> seen(static_cast<std::size_t>(kCyclesPerCall) *
                                static_cast<std::size_t>(figure.runs));
  // Warm-up: the first call loads the kernels.
  RETURN_IF_ERROR(engine->Advance(kCyclesPerCall, seen));
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  double cycles = 0;
  std::chrono::duration<double> took{};
  while (took.count() < bench.seconds) {
    RETURN_IF_ERROR(engine->Advance(kCyclesPerCall, seen));
    cycles += kCyclesPerCall;
    took = Clock::now() - start;
  }
  figure.rate.push_back(cycles * figure.runs / took.count());
  return {};
}

void Show(const BenchArguments& bench, const GpuLimits& limits, double best,
          const std::vector<GpuFigure>& figures) {
  fmt::print(
      "limits: {:.1f} T multiply-adds/s, {:.0f} G normals/s, {:.0f} GB/s device memory, "
      "{:.1f} us per launch, {:.1f} us per graph node\n",
      limits.multiply_adds / 1e12, limits.normals / 1e9, limits.copied / 1e9, 1e6 / limits.launches,
      1e6 / limits.graph_nodes);
  fmt::print(
      "run-cycle: {:.2f} M multiply-adds, {:.1f} k normals; at most {:.2f} M run-cycles/s\n"
      "cycle: {} kernels in sequence; medians of {} rounds\n",
      MultiplyAddsOf(bench.dimension) / 1e6, NormalsOf(bench.dimension) / 1e3, best / 1e6,
      kGpuKernelsOfACycle, bench.rounds);
  fmt::print("{:>6} {:>6} {:>14} {:>10} {:>9}  {}\n", "runs", "graph", "run-cycles/s", "us/cycle",
             "of limit", "bound by");
  for (const GpuFigure& figure : figures) {
    const double rate = Median(figure.rate);
    const double limit = Limit(limits, best, figure.runs, figure.graph);
    fmt::print("{:>6} {:>6} {:>14.0f} {:>10.1f} {:>9.3f}  {}\n", figure.runs, figure.graph, rate,
               1e6 * figure.runs / rate, rate / limit, limit < best ? "launches" : "arithmetic");
  }
}

void ShowJson(const GpuLimits& limits, double best, const std::vector<GpuFigure>& figures) {
  nlohmann::ordered_json all = {{"multiply_adds_per_second", limits.multiply_adds},
                                {"normals_per_second", limits.normals},
                                {"bytes_per_second", limits.copied},
                                {"launches_per_second", limits.launches},
                                {"graph_nodes_per_second", limits.graph_nodes},
                                {"run_cycles_per_second_at_best", best}};
  auto& list = all["figures"] = nlohmann::ordered_json::array();
  for (const GpuFigure& figure : figures) {
    list.push_back({{"runs", figure.runs},
                    {"graph", figure.graph},
                    {"run_cycles_per_second", Median(figure.rate)},
                    {"limit", Limit(limits, best, figure.runs, figure.graph)}});
  }
  fmt::print("{}\n", all.dump(2));
}

}  // namespace

Status BenchGpu(const BenchArguments& arguments, int device) {
  ASSIGN_OR_RETURN(const auto limits, MeasureGpuLimits({.device = device}));
  EngineSettings settings;
  settings.constants.dimension = arguments.dimension;
  std::vector<GpuFigure> figures;
  for (const int runs : arguments.batches) {
    for (const int graph : arguments.graphs) figures.push_back({.runs = runs, .graph = graph});
  }
  for (int round = 0; round < arguments.rounds; ++round) {
    for (GpuFigure& figure : figures) {
      RETURN_IF_ERROR(TimeOnGpu(arguments, device, settings, figure));
    }
  }
  const double best = 1 / MinSecondsPerRunCycle(settings, limits);
  if (arguments.json) {
    ShowJson(limits, best, figures);
  } else {
    Show(arguments, limits, best, figures);
  }
  return {};
}

}  // namespace reveza::phi
