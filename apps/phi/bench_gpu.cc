#include "bench_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "exit_status.h"
#include "phi/gpu/gpu_engine.h"

namespace reveza::phi {
namespace {

// Cycles between two looks at the clock.
constexpr int kCyclesAtOnce = 64;

// Of one run's cycle.
double MultiplyAddsOf(int dimension) {
  const double d = dimension;
  return 3 * d * d + 2 * d * RankOf(dimension) + 2 * d * kHiddenUnits + kHiddenUnits * kHiddenUnits;
}

// One an element in sensory_input's base, six of the modules, one of the copy, eight of the writes;
// those of the least variance, which not every write needs, are left out.
double NormalsOf(int dimension) { return 16.0 * dimension; }

// How long a run's cycle takes at least, if one thing comes after the other.
double LeastSeconds(const EngineSettings& settings, const GpuLimits& limits) {
  const double state = static_cast<double>(StateBytes(settings)) / settings.runs;
  return MultiplyAddsOf(settings.constants.dimension) / limits.multiply_adds +
         NormalsOf(settings.constants.dimension) / limits.normals + 2 * state / limits.copied;
}

// How many run-cycles a second there are at most: what the arithmetic of all runs takes, or, where
// that is less, what starting the kernels of a cycle one after the other takes.
double Limit(const GpuLimits& limits, double best, int runs, int graph) {
  const double starts = graph > 0 ? limits.graph_nodes : limits.launches;
  return std::min(best, starts / kGpuKernelsOfACycle * runs);
}

struct Figure {
  int runs;
  int graph;
  std::vector<double> rate = {};  // run-cycles a second, by round

  double Median() const {
    auto sorted = rate;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

Status Measure(const GpuBench& bench, EngineSettings settings, Figure& figure) {
  settings.runs = figure.runs;
  auto engine = MakeGpuEngine(settings, {.device = bench.device, .graph_cycles = figure.graph});
  if (!engine) return std::unexpected(engine.error());
  std::vector<Observation> seen(static_cast<std::size_t>(kCyclesAtOnce) *
                                static_cast<std::size_t>(figure.runs));
  // The first is not counted: kernels are loaded in it.
  if (auto done = (*engine)->Advance(kCyclesAtOnce, seen); !done) return done;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  double cycles = 0;
  std::chrono::duration<double> took{};
  while (took.count() < bench.seconds) {
    if (auto done = (*engine)->Advance(kCyclesAtOnce, seen); !done) return done;
    cycles += kCyclesAtOnce;
    took = Clock::now() - start;
  }
  figure.rate.push_back(cycles * figure.runs / took.count());
  return {};
}

void Show(const GpuBench& bench, const GpuLimits& limits, double best,
          const std::vector<Figure>& figures) {
  fmt::print(
      "limits: {:.1f} T multiply-adds/s, {:.0f} G normals/s, {:.0f} GB/s of its memory, "
      "{:.1f} us a launch, {:.1f} us in a graph\n",
      limits.multiply_adds / 1e12, limits.normals / 1e9, limits.copied / 1e9, 1e6 / limits.launches,
      1e6 / limits.graph_nodes);
  fmt::print(
      "a run's cycle: {:.2f} M multiply-adds, {:.1f} k normals: at best {:.2f} M "
      "run-cycles/s;\na cycle of all runs: {} kernels, one after the other; medians of {} rounds\n",
      MultiplyAddsOf(bench.dimension) / 1e6, NormalsOf(bench.dimension) / 1e3, best / 1e6,
      kGpuKernelsOfACycle, bench.rounds);
  fmt::print("{:>6} {:>6} {:>14} {:>10} {:>9}  {}\n", "runs", "graph", "run-cycles/s", "us/cycle",
             "of limit", "which is");
  for (const Figure& figure : figures) {
    const double rate = figure.Median();
    const double limit = Limit(limits, best, figure.runs, figure.graph);
    fmt::print("{:>6} {:>6} {:>14.0f} {:>10.1f} {:>9.3f}  {}\n", figure.runs, figure.graph, rate,
               1e6 * figure.runs / rate, rate / limit, limit < best ? "launches" : "arithmetic");
  }
}

void ShowJson(const GpuLimits& limits, double best, const std::vector<Figure>& figures) {
  nlohmann::ordered_json all = {{"multiply_adds_per_second", limits.multiply_adds},
                                {"normals_per_second", limits.normals},
                                {"bytes_per_second", limits.copied},
                                {"launches_per_second", limits.launches},
                                {"graph_nodes_per_second", limits.graph_nodes},
                                {"run_cycles_per_second_at_best", best}};
  auto& list = all["figures"] = nlohmann::ordered_json::array();
  for (const Figure& figure : figures) {
    list.push_back({{"runs", figure.runs},
                    {"graph", figure.graph},
                    {"run_cycles_per_second", figure.Median()},
                    {"limit", Limit(limits, best, figure.runs, figure.graph)}});
  }
  fmt::print("{}\n", all.dump(2));
}

}  // namespace

int BenchGpu(const GpuBench& bench) {
  const auto limits = MeasureGpuLimits({.device = bench.device});
  if (!limits) return Say(limits.error());
  EngineSettings settings;
  settings.constants.dimension = bench.dimension;
  std::vector<Figure> figures;
  for (const int runs : bench.batches) {
    for (const int graph : bench.graphs) figures.push_back({.runs = runs, .graph = graph});
  }
  for (int round = 0; round < bench.rounds; ++round) {
    for (Figure& figure : figures) {
      if (auto done = Measure(bench, settings, figure); !done) return Say(done.error());
    }
  }
  const double best = 1 / LeastSeconds(settings, *limits);
  if (bench.json) {
    ShowJson(*limits, best, figures);
  } else {
    Show(bench, *limits, best, figures);
  }
  return kDone;
}

}  // namespace reveza::phi
