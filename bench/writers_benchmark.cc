// Measures the writers alone on prepared columns, without I/O. This is the upper bound for
// generating and writing together. `Ready` writes 262,144 transactions of the classic model,
// `Coherent` as many of the coherent model, and `Constant` the same 4096 rows of the classic model
// repeatedly, which stay in the cache. Items are rows.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "common/table/arrow.h"
#include "fraudgen/model/classic/classic_model.h"
#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/table_writer.h"

namespace {

namespace fraudgen = reveza::fraudgen;
using fraudgen::Batch;
using fraudgen::Codec;
using fraudgen::Format;
using fraudgen::Money;
using fraudgen::TableOptions;
using reveza::Status;

constexpr uint64_t kRows = 262'144;

class CountingSink final : public fraudgen::ByteSink {
 public:
  Status Append(std::string_view bytes) override {
    bytes_ += bytes.size();
    return {};
  }
  Status Finish() override { return {}; }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_ = 0;
};

// Returns the rows of a table in the first block; none if the model is invalid.
std::deque<Batch> Rows(const fraudgen::Model* model, const fraudgen::Table& table) {
  std::deque<Batch> batches;
  fraudgen::FunctionSink kept([&](const Batch& batch) {
    batches.push_back(batch);
    return Status();
  });
  const fraudgen::Table* const wanted[] = {&table};
  if (model == nullptr || !model->Make(0, wanted, kept)) return {};
  return batches;
}

const std::deque<Batch>& ReadyBatches() {
  static const std::deque<Batch> kBatches = [] {
    fraudgen::classic::Options options;
    options.seed = 1;
    options.transactions = kRows;
    options.start = {.year = 2025, .month = 1, .day = 1};
    options.end = {.year = 2025, .month = 12, .day = 31};
    options.as_of = {.year = 2026, .month = 1, .day = 1};
    return Rows(fraudgen::classic::ClassicModel::Make(options).get(), fraudgen::kTransactions);
  }();
  return kBatches;
}

const std::deque<Batch>& CoherentBatches() {
  static const std::deque<Batch> kBatches = [] {
    fraudgen::coherent::Parameters parameters;
    parameters.seed = 1;
    parameters.rows = kRows;
    const auto model = fraudgen::coherent::CoherentModel::Make(parameters);
    return Rows(model ? model->get() : nullptr, fraudgen::coherent::kTransactions);
  }();
  return kBatches;
}

void Write(benchmark::State& state, const TableOptions& options, bool constant,
           const std::deque<Batch>& batches) {
  if (batches.empty()) return state.SkipWithError("no rows");
  if (const bool columns = options.format == Format::kParquet || options.format == Format::kArrow;
      columns && !reveza::kHaveArrow) {
    return state.SkipWithError("built without Arrow");
  }
  uint64_t rows = 0;
  uint64_t bytes = 0;
  for (auto _ : state) {
    CountingSink sink;
    auto writer = fraudgen::MakeTableWriter(options, batches.front().table(), sink);
    bool right = writer.has_value();
    for (std::size_t i = 0; right && i < batches.size(); ++i) {
      const Batch& batch = constant ? batches.front() : batches[i];
      right = (*writer)->Write(batch).has_value();
      rows += batch.rows();
    }
    if (!right || !(*writer)->Finish()) return state.SkipWithError("could not write");
    bytes += sink.bytes();
  }
  state.SetItemsProcessed(static_cast<int64_t>(rows));
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  state.counters["bytes_a_row"] = static_cast<double>(bytes) / static_cast<double>(rows);
}

void Ready(benchmark::State& state, const TableOptions& options) {
  Write(state, options, false, ReadyBatches());
}
void Coherent(benchmark::State& state, const TableOptions& options) {
  Write(state, options, false, CoherentBatches());
}
void Constant(benchmark::State& state, const TableOptions& options) {
  Write(state, options, true, ReadyBatches());
}

#define REVEZA_WRITER(kind, name, ...) \
  BENCHMARK_CAPTURE(kind, name, TableOptions{__VA_ARGS__})->Unit(benchmark::kMillisecond)

REVEZA_WRITER(Ready, parquet, .format = Format::kParquet);
REVEZA_WRITER(Ready, parquet_zstd3, .format = Format::kParquet, .level = 3);
REVEZA_WRITER(Ready, parquet_snappy, .format = Format::kParquet, .codec = Codec::kSnappy);
REVEZA_WRITER(Ready, parquet_uncompressed, .format = Format::kParquet, .codec = Codec::kNone);
REVEZA_WRITER(Ready, parquet_decimal, .format = Format::kParquet, .money = Money::kDecimal);
REVEZA_WRITER(Ready, parquet_cents, .format = Format::kParquet, .money = Money::kCents);
REVEZA_WRITER(Ready, parquet_groups_of_65536, .format = Format::kParquet, .row_group_rows = 65'536);
REVEZA_WRITER(Ready, arrow, .format = Format::kArrow);
REVEZA_WRITER(Ready, jsonl, .format = Format::kJsonLines);
REVEZA_WRITER(Ready, json, .format = Format::kJson);
REVEZA_WRITER(Ready, csv, .format = Format::kCsv);
REVEZA_WRITER(Coherent, parquet, .format = Format::kParquet);
REVEZA_WRITER(Coherent, parquet_uncompressed, .format = Format::kParquet, .codec = Codec::kNone);
REVEZA_WRITER(Coherent, jsonl, .format = Format::kJsonLines);
REVEZA_WRITER(Coherent, csv, .format = Format::kCsv);
REVEZA_WRITER(Constant, parquet, .format = Format::kParquet);
REVEZA_WRITER(Constant, jsonl, .format = Format::kJsonLines);
REVEZA_WRITER(Constant, csv, .format = Format::kCsv);

}  // namespace

BENCHMARK_MAIN();
