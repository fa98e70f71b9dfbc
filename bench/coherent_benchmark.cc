// How fast the coherent model makes rows, one core, nothing written. A block has to be made whole:
// `items` are its transactions.
#include <benchmark/benchmark.h>

#include <array>
#include <memory>

#include "datagen/coherent/coherent_model.h"

namespace reveza::datagen::coherent {
namespace {

class CountingSink : public BatchSink {
 public:
  Status Put(const Batch& batch) override {
    if (&batch.table() == &kTransactions) rows_ += batch.rows();
    benchmark::DoNotOptimize(batch.column(0).bytes.data());
    return {};
  }
  uint64_t rows() const { return rows_; }

 private:
  uint64_t rows_ = 0;
};

// `tables`: none, so that only people and payments are simulated; transactions; or all.
void Make(benchmark::State& state, std::span<const Table* const> tables) {
  Parameters parameters;
  parameters.seed = 1;
  parameters.rows = uint64_t{1} << 23;
  parameters.rows_per_block = uint64_t{1} << 21;
  const auto model = CoherentModel::Make(parameters);
  if (!model) return state.SkipWithError(model.error().message.c_str());
  CountingSink sink;
  uint64_t block = 0;
  uint64_t rows = 0;
  for (auto _ : state) {
    const Status status = (*model)->Make(block, tables, sink);
    if (!status) return state.SkipWithError(status.error().message.c_str());
    rows += (*model)->RowsOf(kTransactions, block);
    block = (block + 1) % (*model)->blocks();
  }
  state.SetItemsProcessed(static_cast<int64_t>(rows));
}

// The changes need all payments to be made, and are few.
constexpr std::array kOnlyChanges = {&kChanges};
constexpr std::array kOnlyTransactions = {&kTransactions};

void Simulate(benchmark::State& state) { Make(state, kOnlyChanges); }
void Transactions(benchmark::State& state) { Make(state, kOnlyTransactions); }
void AllTables(benchmark::State& state) { Make(state, Tables()); }

BENCHMARK(Simulate)->Unit(benchmark::kMillisecond);
BENCHMARK(Transactions)->Unit(benchmark::kMillisecond);
BENCHMARK(AllTables)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace reveza::datagen::coherent

BENCHMARK_MAIN();
