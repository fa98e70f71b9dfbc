#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "phi/arithmetic/kernels.h"
#include "phi/cli/bench.h"
#include "phi/cli/commands.h"
#include "phi/cycles/engine.h"
#include "phi/cycles/weights.h"
#include "phi/run/device.h"

namespace reveza::phi {
namespace {

// Units of work per second of wall-clock time, and per second of CPU time times the number of
// threads, which estimates the rate on an otherwise idle machine.
struct Rate {
  double wall = 0;
  double cpu = 0;
};

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double CpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A rate to measure: each call of `work` does `units` units of work on all threads.
struct Figure {
  std::string name;
  int threads;
  int batch;  // runs per cycle; 0 for figures that are not cycles
  double units;
  std::function<void()> work;
  std::vector<Rate> rounds;

  // Median over the rounds.
  Rate Median() const {
    std::vector<double> wall;
    std::vector<double> cpu;
    for (const Rate& rate : rounds) {
      wall.push_back(rate.wall);
      cpu.push_back(rate.cpu);
    }
    return {phi::Median(wall), phi::Median(cpu)};
  }
};

void OnThreads(int threads, const std::function<void(int)>& work) {
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  work(0);
}

void TimeFigure(Figure& figure, double seconds) {
  const double wall = WallSeconds();
  const double cpu = CpuSeconds();
  double units = 0;
  do {
    figure.work();
    units += figure.units;
  } while (WallSeconds() - wall < seconds);
  figure.rounds.push_back(
      {units / (WallSeconds() - wall), units * figure.threads / (CpuSeconds() - cpu)});
}

// Floating-point operations of the products of one run-cycle.
double OperationsOf(int dimension) { return 2 * MultiplyAddsOf(dimension); }

class Bench {
 public:
  Bench(const BenchArguments& arguments, Instructions instructions)
      : arguments_(arguments), instructions_(instructions), kernels_(KernelsOf(instructions)) {}

  Status Run() {
    for (const int threads : arguments_.threads) {
      AddProduct(threads);
      AddNormals(threads);
      // The size of all weights, which fit a cache, and a size far beyond any cache.
      AddRead(threads, "weights read", WeightBytes());
      AddRead(threads, "memory read", std::size_t{256} << 20);
      for (const int batch : arguments_.batches) {
        RETURN_IF_ERROR(AddCycles(threads, batch));
      }
    }
    // Interleave the figures so that background load affects all of them alike.
    for (Figure& figure : figures_) figure.work();
    for (int round = 0; round < arguments_.rounds; ++round) {
      for (Figure& figure : figures_) TimeFigure(figure, arguments_.seconds);
    }
    return failed_;
  }

  void Show() const {
    fmt::print("phi {} bench: dimension {}, {:.2f} MFLOP per run-cycle, {}, medians of {} rounds\n",
               REVEZA_VERSION, arguments_.dimension, OperationsOf(arguments_.dimension) / 1e6,
               NameOf(instructions_), arguments_.rounds);
    fmt::print("{:24} {:>7} {:>14} {:>20}\n", "", "threads", "wall time", "CPU time");
    for (const Figure& figure : figures_) {
      const Rate rate = figure.Median();
      if (figure.batch == 0) {
        fmt::print("{:24} {:7} {:14.2f} {:20.2f}\n", figure.name, figure.threads, rate.wall,
                   rate.cpu);
        continue;
      }
      const double limit = RateOf("products, GFLOP/s", figure.threads).cpu;
      fmt::print("{:24} {:7} {:14.0f} {:20.0f}   {:5.1f} GFLOP/s, {:.2f} of peak products\n",
                 figure.name, figure.threads, rate.wall, rate.cpu, GigaOf(rate.cpu),
                 GigaOf(rate.cpu) / limit);
    }
  }

  void ShowJson() const {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Figure& figure : figures_) {
      const Rate rate = figure.Median();
      list.push_back({{"name", figure.name},
                      {"threads", figure.threads},
                      {"batch", figure.batch},
                      {"wall", rate.wall},
                      {"given", rate.cpu}});
    }
    const nlohmann::ordered_json all = {{"version", REVEZA_VERSION},
                                        {"kernel", NameOf(instructions_)},
                                        {"dimension", arguments_.dimension},
                                        {"operations", OperationsOf(arguments_.dimension)},
                                        {"figures", list}};
    fmt::print("{}\n", all.dump(1));
  }

 private:
  double GigaOf(double cycles) const { return cycles * OperationsOf(arguments_.dimension) / 1e9; }

  Rate RateOf(std::string_view name, int threads) const {
    for (const Figure& figure : figures_) {
      if (figure.name == name && figure.threads == threads) return figure.Median();
    }
    return {};
  }

  std::size_t WeightBytes() const {
    return MakeWeights(1, arguments_.dimension, instructions_).bytes();
  }

  // Products of one d x d matrix with 64 vectors per thread.
  void AddProduct(int threads) {
    constexpr int kVectors = 64;
    const int d = arguments_.dimension;
    const auto side = static_cast<std::size_t>(d);
    const auto matrix = std::make_shared<PackedMatrix>(std::vector<float>(side * side, 0.5F), d, d);
    const auto x = std::make_shared<AlignedArray<float>>(side * kVectors);
    std::ranges::fill(x->all(), 1.25F);
    const auto y = std::make_shared<std::vector<AlignedArray<float>>>();
    for (int i = 0; i < threads; ++i) {
      y->emplace_back(static_cast<std::size_t>(PaddedOutputs(d)) * kVectors);
    }
    Add("products, GFLOP/s", threads, 2.0 * d * d * kVectors * threads * 4 / 1e9,
        [this, matrix, x, y, threads, d] {
          OnThreads(threads, [&](int thread) {
            for (int i = 0; i < 4; ++i) {
              Multiply(*matrix, {x->data(), d}, kVectors, {(*y)[thread].data(), PaddedOutputs(d)},
                       kernels_.product);
            }
          });
        });
  }

  void AddNormals(int threads) {
    constexpr int kGroups = 64;
    constexpr int kTimes = 64;
    Add("normals, 1e9/s", threads, double{kGroups} * kGroup * kTimes * threads / 1e9,
        [this, threads] {
          OnThreads(threads, [&](int thread) {
            AlignedArray<float> to(kGroups * kGroup);
            DrawPosition at = {
                .key = KeyOf(1), .run = static_cast<std::uint32_t>(thread), .cycle = 0, .site = 0};
            for (; at.cycle < kTimes; ++at.cycle) kernels_.normals(at, kGroups, to.data());
          });
        });
  }

  // Sums `bytes` bytes of floats, divided among the threads.
  void AddRead(int threads, const std::string& name, std::size_t bytes) {
    const auto values = std::make_shared<AlignedArray<float>>(bytes / sizeof(float));
    std::ranges::fill(values->all(), 1.0F);
    const int times = std::max<int>(1, static_cast<int>((std::size_t{64} << 20) / bytes));
    Add(name + ", GB/s", threads, static_cast<double>(bytes) * times / 1e9,
        [this, values, threads, times] {
          OnThreads(threads, [&](int thread) {
            const int groups = static_cast<int>(values->size() / kGroup) / threads;
            const float* const first = values->data() + std::ptrdiff_t{groups} * thread * kGroup;
            float sum = 0;
            for (int i = 0; i < times; ++i) sum += kernels_.sum(first, groups);
            read_[static_cast<std::size_t>(thread) % read_.size()] = sum;
          });
        });
  }

  Status AddCycles(int threads, int batch) {
    EngineSettings settings;
    settings.constants.dimension = arguments_.dimension;
    settings.runs = batch;
    settings.correlation = arguments_.correlation;
    ASSIGN_OR_RETURN(auto made,
                     MakeCpuEngine(settings, {.threads = threads, .instructions = instructions_}));
    const std::shared_ptr<CycleEngine> engine = std::move(made);
    const int cycles = std::max(1, 256 / batch);
    const auto observations =
        std::make_shared<std::vector<Observation>>(static_cast<std::size_t>(cycles * batch));
    Add(
        fmt::format("batch {}, run-cycles/s", batch), threads, double{1} * cycles * batch,
        [this, engine, observations, cycles] {
          if (auto done = engine->Advance(cycles, *observations); !done) failed_ = done;
        },
        batch);
    return {};
  }

  void Add(std::string name, int threads, double units, std::function<void()> work, int batch = 0) {
    figures_.push_back({std::move(name), threads, batch, units, std::move(work), {}});
  }

  const BenchArguments& arguments_;
  Instructions instructions_;
  const ArithmeticKernels& kernels_;
  std::vector<Figure> figures_;
  Status failed_;                                     // last error of an engine
  std::vector<float> read_ = std::vector<float>(64);  // keeps the sums from being optimised away
};

Result<int> RunBench(BenchArguments& arguments) {
  ASSIGN_OR_RETURN(const auto device, ParseDevice(arguments.device));
  if (arguments.rounds < 1) return InvalidArgument("--rounds must be at least 1");
  if (device.kind == Device::Kind::kGpu) {
    RETURN_IF_ERROR(BenchGpu(arguments, device.index));
    return kDone;
  }
  Instructions instructions = SupportedInstructions();
  if (arguments.kernel != "auto") {
    const auto named = ParseInstructions(arguments.kernel);
    if (!named || *named > instructions) {
      return InvalidArgument("--kernel: '{}' is unknown or unsupported here; use up to {}",
                             arguments.kernel, NameOf(instructions));
    }
    instructions = *named;
  }
  if (arguments.threads.empty()) {
    arguments.threads = {1};
    if (AllCores() > 1) arguments.threads.push_back(AllCores());
  }
  for (const std::vector<int>* list : {&arguments.threads, &arguments.batches}) {
    for (const int each : *list) {
      if (each >= 1 && each <= 65536) continue;
      return InvalidArgument("--threads and --batches: {} is out of range; use 1 to 65536", each);
    }
  }
  Bench bench(arguments, instructions);
  RETURN_IF_ERROR(bench.Run());
  if (arguments.json) {
    bench.ShowJson();
  } else {
    bench.Show();
  }
  return kDone;
}

}  // namespace

double MultiplyAddsOf(int dimension) {
  const double d = dimension;
  return 3 * d * d + 2 * d * RankOf(dimension) + 2 * d * kHiddenUnits + kHiddenUnits * kHiddenUnits;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Action AddBenchCommand(CLI::App& options) {
  const auto arguments = std::make_shared<BenchArguments>();
  AddDefaulted(options, "-d,--dimension", arguments->dimension, "elements per module", "INT");
  AddOption(options, "-b,--batches", arguments->batches, "INT,...",
            "batch sizes (runs per cycle) to measure")
      ->delimiter(',')
      ->default_str("1,7,64,256");
  AddOption(options, "-w,--threads", arguments->threads, "INT,...",
            "thread counts to measure; default: 1 and all cores")
      ->delimiter(',');
  AddDefaulted(options, "--seconds", arguments->seconds, "duration of each figure in each round",
               "FLOAT");
  AddDefaulted(options, "--rounds", arguments->rounds, "rounds; the median is reported", "INT");
  AddDefaulted(options, "--kernel", arguments->kernel, "CPU kernel; auto is the best supported",
               "auto|plain|avx2|avx512");
  AddDefaulted(options, "--device", arguments->device, "device", "cpu|gpu|gpu:N");
  AddOption(options, "--graphs", arguments->graphs, "INT,...",
            "GPU only: cycles per CUDA graph to measure; 0 launches kernels individually")
      ->delimiter(',')
      ->default_str("0,16");
  options.add_flag("--correlation", arguments->correlation,
                   "include the correlation of the recurrent triple that phi_legacy needs");
  options.add_flag("--json", arguments->json, "print JSON");
  options.footer(
      "Example:\n"
      "  phi bench --batches 1,64 --threads 1,8\n"
      "Rates by CPU time estimate an otherwise idle machine; prefer them on a shared one.");
  return [arguments] { return RunBench(*arguments); };
}

}  // namespace reveza::phi
