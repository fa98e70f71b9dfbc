// Measures scheduling decisions per second. Jobs that do not fit together take turns; clients
// respond immediately.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>
#include <variant>
#include <vector>

#include "reveza/gpu/scheduler/scheduler.h"

namespace {

using namespace reveza::scheduler;  // NOLINT: the whole file is about it
using reveza::Bytes;
using reveza::kGiB;
using reveza::kMiB;

// Clients that execute every decision immediately and always have work.
class World {
 public:
  explicit World(int jobs) : scheduler_(MakeConfig()) {
    scheduler_.SetGpu(now_, 0, {.total = 24 * kGiB, .budget = 24 * kGiB, .granule = 64 * kMiB});
    for (ClientId id = 1; id <= static_cast<ClientId>(jobs); ++id) {
      scheduler_.ClientJoined(now_, id, id, false);
      scheduler_.ContextRequested(now_, id, 0);
      Answer();
      clients_[id].memory.swapped = 12 * kGiB;
      Report(id, 0);
      scheduler_.GateRequested(now_, id);
      Answer();
    }
  }

  // Runs one wake-up of the daemon and everything it triggers. Returns the number of decisions.
  std::size_t Turn() {
    now_ = std::max(now_ + std::chrono::milliseconds(1),
                    scheduler_.NextWakeup().value_or(now_ + std::chrono::seconds(1)));
    scheduler_.Tick(now_);
    return Answer();
  }

 private:
  struct Client {
    Footprint memory;
    Bytes credit = 0;
    std::uint32_t swap_in = 0;
  };

  static Config MakeConfig() {
    Config config;
    config.host_budget = 65'536 * kGiB;
    return config;
  }

  void Report(ClientId id, Bytes returned) {
    clients_[id].credit -= returned;
    scheduler_.AccountChanged(now_, id, 0, clients_[id].memory, returned, 12 * kGiB);
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
    client.memory.context = 10 * kMiB;  // all contexts fit beside the memory of a job
    client.credit = client.memory.context;
    scheduler_.ContextCreated(now_, order.client, 0, client.memory.context);
  }
  void Carry(const CloseGate& order) {
    now_ += std::chrono::milliseconds(300);
    scheduler_.GateClosed(now_, order.client, order.serial);
    scheduler_.GateRequested(now_, order.client);
  }
  void Carry(const Evict& order) {
    Client& client = clients_[order.client];
    const Bytes freed = client.memory.resident;
    client.memory.swapped += freed;
    client.memory.resident = 0;
    Report(order.client, freed);
    scheduler_.Evicted(now_, order.client, order.serial, 0, EvictFailure::kNone);
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
    scheduler_.SwappedIn(now_, id, client.swap_in);
    client.swap_in = 0;
  }

  Time now_{0};
  Scheduler scheduler_;
  std::map<ClientId, Client> clients_;
};

void TakeTurns(benchmark::State& state) {
  World world(static_cast<int>(state.range(0)));
  std::size_t decisions = 0;
  for (auto _ : state) decisions += world.Turn();
  if (decisions == 0) state.SkipWithError("no decisions were made");
  state.counters["decisions"] =
      benchmark::Counter(static_cast<double>(decisions), benchmark::Counter::kIsRate);
}
BENCHMARK(TakeTurns)->Arg(2)->Arg(4)->Arg(10)->Arg(32)->Arg(100)->Arg(316)->Arg(1000);

}  // namespace

BENCHMARK_MAIN();
