// How fast the classic model makes rows, one core, nothing written.

#include <benchmark/benchmark.h>

#include <array>
#include <memory>

#include "datagen/classic/classic_model.h"

namespace reveza::datagen::classic {
namespace {

class CountingSink : public BatchSink {
 public:
  Status Put(const Batch& batch) override {
    rows_ += batch.rows();
    benchmark::DoNotOptimize(batch.column(0).bytes.data());
    return {};
  }
  uint64_t rows() const { return rows_; }

 private:
  uint64_t rows_ = 0;
};

void BM_Make(benchmark::State& state, const Table& table, Kind kind) {
  constexpr uint64_t kRows = uint64_t{1} << 28;
  Options options;
  options.kind = kind;
  options.seed = 1;
  options.transactions = kRows;
  options.rides = kRows;
  options.rows_per_block = uint64_t{1} << 19;
  options.start = {2025, 1, 1};
  options.end = {2025, 12, 31};
  options.as_of = {2026, 1, 1};
  const auto model = ClassicModel::Make(options);
  if (!model) return state.SkipWithError(model.error().message.c_str());
  CountingSink sink;
  const std::array wanted = {&table};
  uint64_t block = 0;
  for (auto _ : state) {
    const Status status = (*model)->Make(block, wanted, sink);
    if (!status) return state.SkipWithError(status.error().message.c_str());
    block = (block + 1) % (*model)->blocks();
  }
  state.SetItemsProcessed(static_cast<int64_t>(sink.rows()));
}

BENCHMARK_CAPTURE(BM_Make, transactions, kTransactions, Kind::kTransactions);
BENCHMARK_CAPTURE(BM_Make, customers, kCustomers, Kind::kTransactions);
BENCHMARK_CAPTURE(BM_Make, devices, kDevices, Kind::kTransactions);
BENCHMARK_CAPTURE(BM_Make, rides, kRides, Kind::kRides);
BENCHMARK_CAPTURE(BM_Make, drivers, kDrivers, Kind::kRides);

}  // namespace
}  // namespace reveza::datagen::classic

BENCHMARK_MAIN();
