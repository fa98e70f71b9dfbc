#include "bench_command.h"

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

#include "bench_gpu.h"
#include "device.h"
#include "exit_status.h"
#include "phi/arithmetic/kernels.h"
#include "phi/cycles/cpu_engine.h"
#include "phi/cycles/weights.h"

namespace reveza::phi {
namespace {

struct Typed {
  int dimension = 768;
  std::vector<int> batches = {1, 7, 64, 256};
  std::vector<int> threads;
  double seconds = 0.5;
  int rounds = 5;
  std::string kernel = "auto";
  std::string device = "cpu";
  std::vector<int> graphs = {0, 16};
  bool correlation = false;
  bool json = false;
};

// Units of work a second, by the clock on the wall, and by the time that the processor gave us
// times the number of threads: what the same would be on a machine without others.
struct Rate {
  double wall = 0;
  double given = 0;
};

double Wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Given() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Something whose rate is wanted: `work` does so many units by all its threads.
struct Figure {
  std::string name;
  int threads;
  int batch;  // 0: not of cycles
  double units;
  std::function<void()> work;
  std::vector<Rate> rounds;

  // The middle of the rounds.
  Rate Median() const {
    const auto middle = [&](double Rate::* member) {
      std::vector<double> values;
      for (const Rate& rate : rounds) values.push_back(rate.*member);
      std::ranges::sort(values);
      return values[values.size() / 2];
    };
    return {middle(&Rate::wall), middle(&Rate::given)};
  }
};

void OnThreads(int threads, const std::function<void(int)>& work) {
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  work(0);
}

void Measure(Figure& figure, double seconds) {
  const double wall = Wall();
  const double given = Given();
  double units = 0;
  do {
    figure.work();
    units += figure.units;
  } while (Wall() - wall < seconds);
  figure.rounds.push_back({units / (Wall() - wall), units * figure.threads / (Given() - given)});
}

double OperationsOf(int dimension) {
  const double d = dimension;
  const double hidden = kHiddenUnits;
  return 2 * (3 * d * d + 2 * d * RankOf(dimension) + 2 * d * hidden + hidden * hidden);
}

class Bench {
 public:
  Bench(const Typed& typed, Instructions instructions)
      : typed_(typed), instructions_(instructions), kernels_(KernelsOf(instructions)) {}

  Status Run() {
    for (const int threads : typed_.threads) {
      AddProduct(threads);
      AddNormals(threads);
      // As much as all weights, which lie in a cache; and far more than any cache.
      AddRead(threads, "weights read", WeightBytes());
      AddRead(threads, "memory read", std::size_t{256} << 20);
      for (const int batch : typed_.batches) {
        if (auto added = AddCycles(threads, batch); !added) return added;
      }
    }
    // Round by round, so that what else the machine does is in all figures alike.
    for (Figure& figure : figures_) figure.work();
    for (int round = 0; round < typed_.rounds; ++round) {
      for (Figure& figure : figures_) Measure(figure, typed_.seconds);
    }
    return failed_;
  }

  void Show() const {
    fmt::print("phi {} bench: dimension {}, {:.2f} MFLOP a run-cycle, {}, medians of {} rounds\n",
               REVEZA_VERSION, typed_.dimension, OperationsOf(typed_.dimension) / 1e6,
               NameOf(instructions_), typed_.rounds);
    fmt::print("{:24} {:>7} {:>14} {:>20}\n", "", "threads", "by the clock", "by processor time");
    for (const Figure& figure : figures_) {
      const Rate rate = figure.Median();
      if (figure.batch == 0) {
        fmt::print("{:24} {:7} {:14.2f} {:20.2f}\n", figure.name, figure.threads, rate.wall,
                   rate.given);
        continue;
      }
      const double limit = Of("products, GFLOP/s", figure.threads).given;
      fmt::print("{:24} {:7} {:14.0f} {:20.0f}   {:5.1f} GFLOP/s, {:.2f} of the products\n",
                 figure.name, figure.threads, rate.wall, rate.given, GigaOf(rate.given),
                 GigaOf(rate.given) / limit);
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
                      {"given", rate.given}});
    }
    const nlohmann::ordered_json all = {{"version", REVEZA_VERSION},
                                        {"kernel", NameOf(instructions_)},
                                        {"dimension", typed_.dimension},
                                        {"operations", OperationsOf(typed_.dimension)},
                                        {"figures", list}};
    fmt::print("{}\n", all.dump(1));
  }

 private:
  double GigaOf(double cycles) const { return cycles * OperationsOf(typed_.dimension) / 1e9; }

  Rate Of(std::string_view name, int threads) const {
    for (const Figure& figure : figures_) {
      if (figure.name == name && figure.threads == threads) return figure.Median();
    }
    return {};
  }

  std::size_t WeightBytes() const {
    return MakeWeights(1, typed_.dimension, instructions_).bytes();
  }

  // One d x d matrix by 64 vectors of each thread.
  void AddProduct(int threads) {
    constexpr int kVectors = 64;
    const int d = typed_.dimension;
    const auto side = static_cast<std::size_t>(d);
    const auto matrix = std::make_shared<PackedMatrix>(std::vector<float>(side * side, 0.5F), d, d);
    const auto x = std::make_shared<AlignedArray<float>>(side * kVectors);
    std::ranges::fill(x->all(), 1.25F);
    const auto y = std::make_shared<std::vector<AlignedArray<float>>>();
    for (int i = 0; i < threads; ++i) {
      y->emplace_back(static_cast<std::size_t>(PaddedOutputs(d)) * kVectors);
    }
    figures_.push_back({.name = "products, GFLOP/s",
                        .threads = threads,
                        .batch = 0,
                        .units = 2.0 * d * d * kVectors * threads * 4 / 1e9,
                        .work =
                            [this, matrix, x, y, threads, d] {
                              OnThreads(threads, [&](int thread) {
                                float* to = (*y)[static_cast<std::size_t>(thread)].data();
                                for (int i = 0; i < 4; ++i) {
                                  Multiply(*matrix, {x->data(), d}, kVectors,
                                           {to, PaddedOutputs(d)}, kernels_.product);
                                }
                              });
                            },
                        .rounds = {}});
  }

  void AddNormals(int threads) {
    constexpr int kGroups = 64;
    constexpr int kTimes = 64;
    figures_.push_back({.name = "normals, 1e9/s",
                        .threads = threads,
                        .batch = 0,
                        .units = double{kGroups} * kGroup * kTimes * threads / 1e9,
                        .work =
                            [this, threads] {
                              OnThreads(threads, [&](int thread) {
                                AlignedArray<float> to(kGroups * kGroup);
                                for (std::uint32_t i = 0; i < kTimes; ++i) {
                                  kernels_.normals({.key = KeyOf(1),
                                                    .run = static_cast<std::uint32_t>(thread),
                                                    .cycle = i,
                                                    .site = 0},
                                                   kGroups, to.data());
                                }
                              });
                            },
                        .rounds = {}});
  }

  // The sum of so many bytes, shared by the threads.
  void AddRead(int threads, const std::string& name, std::size_t bytes) {
    const auto values = std::make_shared<AlignedArray<float>>(bytes / sizeof(float));
    std::ranges::fill(values->all(), 1.0F);
    const int times = std::max<int>(1, static_cast<int>((std::size_t{64} << 20) / bytes));
    figures_.push_back({.name = name + ", GB/s",
                        .threads = threads,
                        .batch = 0,
                        .units = static_cast<double>(bytes) * times / 1e9,
                        .work =
                            [this, values, threads, times] {
                              OnThreads(threads, [&](int thread) {
                                const int groups = static_cast<int>(values->size() / kGroup);
                                const int first = groups / threads * thread;
                                float sum = 0;
                                for (int i = 0; i < times; ++i) {
                                  sum +=
                                      kernels_.sum(values->data() + std::ptrdiff_t{first} * kGroup,
                                                   groups / threads);
                                }
                                read_[static_cast<std::size_t>(thread) % read_.size()] = sum;
                              });
                            },
                        .rounds = {}});
  }

  Status AddCycles(int threads, int batch) {
    EngineSettings settings;
    settings.constants.dimension = typed_.dimension;
    settings.runs = batch;
    settings.correlation = typed_.correlation;
    auto made = MakeCpuEngine(settings, {.threads = threads, .instructions = instructions_});
    if (!made) return std::unexpected(std::move(made).error());
    const std::shared_ptr<CycleEngine> engine = std::move(*made);
    const int cycles = std::max(1, 256 / batch);
    const auto observations =
        std::make_shared<std::vector<Observation>>(static_cast<std::size_t>(cycles * batch));
    figures_.push_back({.name = fmt::format("batch {}, run-cycles/s", batch),
                        .threads = threads,
                        .batch = batch,
                        .units = double{1} * cycles * batch,
                        .work =
                            [this, engine, observations, cycles] {
                              if (auto done = engine->Advance(cycles, *observations); !done)
                                failed_ = done;
                            },
                        .rounds = {}});
    return {};
  }

  const Typed& typed_;
  Instructions instructions_;
  const ArithmeticKernels& kernels_;
  std::vector<Figure> figures_;
  Status failed_;                                     // of whatever cycles were measured
  std::vector<float> read_ = std::vector<float>(64);  // so that sums are not left out
};

int BenchTyped(Typed& typed) {
  const auto device = DeviceOf(typed.device);
  if (!device) return Say(device.error());
  if (typed.rounds < 1) return Say(kUsage, "--rounds: take at least 1");
  if (device->kind == Device::Kind::kGpu) {
    return BenchGpu({.device = device->index,
                     .dimension = typed.dimension,
                     .batches = typed.batches,
                     .graphs = typed.graphs,
                     .seconds = typed.seconds,
                     .rounds = typed.rounds,
                     .json = typed.json});
  }
  Instructions instructions = InstructionsOfProcessor();
  if (typed.kernel != "auto") {
    const auto named = InstructionsOf(typed.kernel);
    if (!named || *named > instructions) {
      return Say(kUsage, fmt::format("there is no kernel '{}' here; take plain to {}", typed.kernel,
                                     NameOf(instructions)));
    }
    instructions = *named;
  }
  if (typed.threads.empty()) {
    typed.threads = {1};
    const int all = static_cast<int>(std::thread::hardware_concurrency());
    if (all > 1) typed.threads.push_back(all);
  }
  for (const std::vector<int>* list : {&typed.threads, &typed.batches}) {
    for (const int each : *list) {
      if (each < 1 || each > 65536) {
        return Say(kUsage, fmt::format("{} threads or runs; take 1 to 65536", each));
      }
    }
  }
  Bench bench(typed, instructions);
  if (auto ran = bench.Run(); !ran) return Say(ran.error());
  if (typed.json) {
    bench.ShowJson();
  } else {
    bench.Show();
  }
  return kDone;
}

}  // namespace

std::function<int()> AddBenchCommand(CLI::App& options) {
  const auto typed = std::make_shared<Typed>();
  options.add_option("-d,--dimension", typed->dimension, "elements of a module; else 768")
      ->type_name("N");
  options.add_option("-b,--batches", typed->batches, "runs side by side; else 1,7,64,256")
      ->delimiter(',')
      ->type_name("N,...");
  options.add_option("-w,--threads", typed->threads, "else 1 and one a core")
      ->delimiter(',')
      ->type_name("N,...");
  options.add_option("--seconds", typed->seconds, "of each figure in each round; else 0.5")
      ->type_name("S");
  options.add_option("--rounds", typed->rounds, "else 5")->type_name("N");
  options.add_option("--kernel", typed->kernel, "plain, avx2 or avx512; else the best")
      ->type_name("NAME");
  options.add_option("--device", typed->device, "cpu, gpu or gpu:N; else cpu")->type_name("NAME");
  options
      .add_option("--graphs", typed->graphs,
                  "on a GPU: cycles in one CUDA graph, 0 for none; else 0,16")
      ->delimiter(',')
      ->type_name("N,...");
  options.add_flag("--correlation", typed->correlation,
                   "with what phi_legacy needs of the recurrent triple");
  options.add_flag("--json", typed->json, "the figures as JSON");
  options.footer(
      "By processor time: what the threads were given, times their number; on a machine "
      "that others use the clock says less.");
  return [typed] { return BenchTyped(*typed); };
}

}  // namespace reveza::phi
