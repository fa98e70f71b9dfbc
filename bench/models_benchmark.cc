// Measures row generation of both models on one core, without output. The coherent model generates
// a block as a whole; its items are transactions.
#include <benchmark/benchmark.h>

#include <array>

#include "fraudgen/model/classic/classic_model.h"
#include "fraudgen/model/coherent/coherent_model.h"

namespace reveza::fraudgen {
namespace {

// Generates the tables block by block. Items are the rows of `counted`, even if not generated.
void Generate(benchmark::State& state, const Model& model, std::span<const Table* const> tables,
              const Table& counted) {
  FunctionSink sink([](const Batch& batch) {
    benchmark::DoNotOptimize(batch.column(0).bytes.data());
    return Status();
  });
  uint64_t block = 0;
  uint64_t rows = 0;
  for (auto _ : state) {
    const Status status = model.Make(block, tables, sink);
    if (!status) return state.SkipWithError(status.error().message.c_str());
    rows += model.RowsOf(counted, block);
    block = (block + 1) % model.blocks();
  }
  state.SetItemsProcessed(static_cast<int64_t>(rows));
}

void Classic(benchmark::State& state, const Table& table, classic::Kind kind) {
  constexpr uint64_t kRows = uint64_t{1} << 28;
  classic::Options options;
  options.kind = kind;
  options.seed = 1;
  options.transactions = kRows;
  options.rides = kRows;
  options.rows_per_block = uint64_t{1} << 19;
  options.start = {2025, 1, 1};
  options.end = {2025, 12, 31};
  options.as_of = {2026, 1, 1};
  const std::array wanted = {&table};
  Generate(state, *classic::ClassicModel::Make(options), wanted, table);
}
BENCHMARK_CAPTURE(Classic, transactions, kTransactions, classic::Kind::kTransactions);
BENCHMARK_CAPTURE(Classic, customers, kCustomers, classic::Kind::kTransactions);
BENCHMARK_CAPTURE(Classic, devices, kDevices, classic::Kind::kTransactions);
BENCHMARK_CAPTURE(Classic, rides, kRides, classic::Kind::kRides);
BENCHMARK_CAPTURE(Classic, drivers, kDrivers, classic::Kind::kRides);

void Coherent(benchmark::State& state, std::span<const Table* const> tables) {
  coherent::Parameters parameters;
  parameters.seed = 1;
  parameters.rows = uint64_t{1} << 23;
  parameters.rows_per_block = uint64_t{1} << 21;
  const auto model = coherent::CoherentModel::Make(parameters);
  if (!model) return state.SkipWithError(model.error().message.c_str());
  Generate(state, **model, tables, coherent::kTransactions);
}
// The change log needs all payments and is small, so it takes the time of simulating them.
constexpr std::array kOnlyChanges = {&coherent::kChanges};
constexpr std::array kOnlyTransactions = {&coherent::kTransactions};
BENCHMARK_CAPTURE(Coherent, simulation, kOnlyChanges)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Coherent, transactions, kOnlyTransactions)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Coherent, all_tables, coherent::Tables())->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace reveza::fraudgen

BENCHMARK_MAIN();
