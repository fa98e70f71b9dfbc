// Measures what an event costs the scheduler. Jobs that do not fit together take turns; clients
// respond immediately.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "reveza/gpu/scheduler/scheduler.h"

namespace {

using namespace reveza::scheduler;  // NOLINT: the whole file is about it
using reveza::Bytes;
using reveza::kGiB;
using reveza::kMiB;

// Before those that are measured, and measured: the jobs of large worlds are added only once.
constexpr int kTurns = 2000;

// Clients that execute every decision immediately and always have work.
class World {
 public:
  World(GpuId gpus, ClientId clients)
      : drain_(std::chrono::milliseconds(300) / gpus), scheduler_(MakeConfig()) {
    for (GpuId gpu = 0; gpu < gpus; ++gpu) {
      scheduler_.SetGpu(now_, gpu, {.total = 24 * kGiB, .budget = 24 * kGiB, .granule = 64 * kMiB});
    }
    clients_.resize(clients + 1);
    for (ClientId id = 1; id <= clients; ++id) {
      now_ += drain_;  // or all GPUs would change jobs at the same time
      clients_[id].gpu = static_cast<GpuId>(id % gpus);
      scheduler_.ClientJoined(now_, id, id, false);
      scheduler_.ContextRequested(now_, id, clients_[id].gpu);
      Answer();
      clients_[id].memory.swapped = 12 * kGiB;
      Report(id, 0);
      scheduler_.GateRequested(now_, id);
      Answer();
    }
  }

  // Runs one wake-up of the daemon and everything it triggers. Returns the number of decisions.
  std::size_t Turn() {
    now_ =
        std::max(now_ + Time(1), scheduler_.NextWakeup().value_or(now_ + std::chrono::seconds(1)));
    ++events_;
    scheduler_.Tick(now_);
    considered_ += scheduler_.JobsConsidered();
    return Answer();
  }

  std::size_t events() const { return events_; }
  // Returns how many jobs all wake-ups so far made the scheduler look at.
  std::size_t considered() const { return considered_; }

 private:
  struct Client {
    GpuId gpu = 0;
    Footprint memory;
    Bytes credit = 0;
    std::uint32_t swap_in = 0;
  };

  static Config MakeConfig() {
    Config config;
    config.host_budget = Bytes{1} << 62;
    return config;
  }

  void Report(ClientId id, Bytes returned) {
    Client& client = clients_[id];
    client.credit -= returned;
    ++events_;
    scheduler_.AccountChanged(now_, id, client.gpu, client.memory, returned, 12 * kGiB);
  }

  std::size_t Answer() {
    std::size_t count = 0;
    for (std::vector<Decision> decisions = scheduler_.TakeDecisions(); !decisions.empty();
         decisions = scheduler_.TakeDecisions()) {
      count += decisions.size();
      for (const Decision& decision : decisions) {
        std::visit([this](const auto& order) { Carry(order); }, decision);
      }
    }
    return count;
  }

  void Carry(const AdmitContext& order) {
    Client& client = clients_[order.client];
    client.memory.context = context_;
    client.credit = context_;
    scheduler_.ContextCreated(now_, order.client, order.gpu, context_);
  }
  void Carry(const CloseGate& order) {
    now_ += drain_;
    events_ += 2;
    scheduler_.GateClosed(now_, order.client, order.serial);
    scheduler_.GateRequested(now_, order.client);
  }
  void Carry(const Evict& order) {
    Client& client = clients_[order.client];
    const Bytes freed = client.memory.resident;
    client.memory.swapped += freed;
    client.memory.resident = 0;
    Report(order.client, freed);
    ++events_;
    scheduler_.Evicted(now_, order.client, order.serial, order.gpu, EvictFailure::kNone);
  }
  void Carry(const SwapIn& order) {
    clients_[order.client].swap_in = order.serial;
    TryToEnter(order.client);
  }
  void Carry(const GiveCredit& order) {
    clients_[order.client].credit += order.bytes;
    TryToEnter(order.client);
  }
  // The others need no answer.
  template <typename Order>
  void Carry(const Order&) {}

  void TryToEnter(ClientId id) {
    Client& client = clients_[id];
    if (client.swap_in == 0 || client.credit < client.memory.Need()) return;
    client.memory.resident += client.memory.swapped;
    client.memory.swapped = 0;
    Report(id, 0);
    ++events_;
    scheduler_.SwappedIn(now_, id, client.swap_in);
    client.swap_in = 0;
  }

  static constexpr Bytes context_ = 64 * reveza::kKiB;  // all fit beside the memory of a job

  const Time drain_;
  Time now_{0};
  Scheduler scheduler_;
  std::vector<Client> clients_;
  std::size_t events_ = 0;
  std::size_t considered_ = 0;
};

// `jobs` of one client each, on so many GPUs.
void TakeTurns(benchmark::State& state, GpuId gpus, ClientId jobs) {
  World world(gpus, jobs);
  for (int turn = 0; turn < kTurns; ++turn) world.Turn();
  const std::size_t before = world.events();
  const std::size_t considered = world.considered();
  std::size_t decisions = 0;
  for (auto _ : state) decisions += world.Turn();
  if (decisions == 0) state.SkipWithError("no decisions were made");
  const auto each = [](std::size_t number) {
    return benchmark::Counter(static_cast<double>(number),
                              benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  };
  state.counters["per_event"] = each(world.events() - before);
  state.counters["per_decision"] = each(decisions);
  state.counters["jobs"] = benchmark::Counter(static_cast<double>(world.considered() - considered),
                                              benchmark::Counter::kAvgIterations);
}

void OneCard(benchmark::State& state) {
  TakeTurns(state, 1, static_cast<ClientId>(state.range(0)));
}
BENCHMARK(OneCard)
    ->Arg(2)
    ->Arg(10)
    ->Arg(32)
    ->RangeMultiplier(10)
    ->Range(100, 100'000)
    ->Iterations(kTurns);

// Ten jobs on each card, all cards of one scheduler.
void Fleet(benchmark::State& state) {
  TakeTurns(state, static_cast<GpuId>(state.range(0) / 10), static_cast<ClientId>(state.range(0)));
}
BENCHMARK(Fleet)->Arg(10)->RangeMultiplier(10)->Range(100, 100'000)->Iterations(kTurns);

}  // namespace

BENCHMARK_MAIN();
