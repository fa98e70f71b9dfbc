#include "fraudgen/run/prepare.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "fraudgen/model/classic/classic_model.h"
#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/model/defects/defective_model.h"
#include "fraudgen/model/graph/graph_model.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/run/size_estimate.h"
#include "fraudgen/schema/schema_coherent.h"

namespace reveza::fraudgen {
namespace {

constexpr uint64_t kDefaultStreamRows = 1'000'000;
// Each block of a stream takes a thread and about 13 MB.
constexpr uint64_t kMaxStreamBlocks = 2'000;
constexpr uint64_t kMaxStreamRows = 4'000'000'000;

// Blocks are the unit of threads and shards: sixteen, unless they would be too small or too large.
// They determine the bytes, so they depend on nothing but the size of the data.
constexpr uint64_t kUsualBlocks = 16;
constexpr uint64_t kMinRowsPerBlock = 125'000;
constexpr uint64_t kMaxRowsPerBlock = 2'000'000;
constexpr uint64_t kMaxCustomersPerBlock = 60'000;  // about 80 MB

uint64_t RowsPerBlock(uint64_t rows, uint64_t customers) {
  const uint64_t usual =
      std::clamp((rows + kUsualBlocks - 1) / kUsualBlocks, kMinRowsPerBlock, kMaxRowsPerBlock);
  const uint64_t blocks = std::max((rows + usual - 1) / usual,
                                   (customers + kMaxCustomersPerBlock - 1) / kMaxCustomersPerBlock);
  return std::max<uint64_t>(1,
                            std::min(usual, (rows + blocks - 1) / std::max<uint64_t>(1, blocks)));
}

classic::Options ClassicOptions(const Settings& settings, uint64_t rows) {
  classic::Options options{.seed = settings.seed,
                           .customers = settings.customers,
                           .frauds = settings.fraud_rate,
                           .start = settings.Start(),
                           .end = settings.End(),
                           .as_of = settings.AsOf(),
                           .profiles = settings.profiles};
  options.identities = settings.safe_identities ? Identities::kSafe : Identities::kValid;
  options.kind = settings.type == DataType::kAll         ? classic::Kind::kAll
                 : settings.type == DataType::kRidesOnly ? classic::Kind::kRides
                                                         : classic::Kind::kTransactions;
  if (settings.type != DataType::kRidesOnly) options.transactions = rows;
  if (settings.type != DataType::kTransactionsOnly) options.rides = rows;
  options.rows_per_block = RowsPerBlock(rows, 0);
  return options;
}

coherent::Parameters CoherentParameters(const Settings& settings, uint64_t rows) {
  coherent::Parameters parameters = settings.behaviour;
  parameters.seed = settings.seed;
  parameters.rows = settings.type == DataType::kRidesOnly ? 0 : rows;
  parameters.rides = settings.type == DataType::kTransactionsOnly ? 0 : rows;
  parameters.customers = settings.customers.value_or(0);
  parameters.growing = settings.IsGrowing();
  parameters.sessions = settings.sessions;
  parameters.first_day = DaysOf(settings.Start());
  parameters.last_day = DaysOf(settings.End());
  parameters.frauds = settings.fraud_rate;
  parameters.frauds_of_pix = settings.real_fraud_rate;
  parameters.identities = settings.safe_identities ? Identities::kSafe : Identities::kValid;
  parameters.difficulty = settings.difficulty;
  if (settings.labels_as_of) parameters.labels_as_of = DaysOf(*settings.labels_as_of);
  // Growing data has no number of rows; its blocks are bounded by customers anyway.
  if (!parameters.growing) parameters.rows_per_block = RowsPerBlock(rows, parameters.customers);
  return parameters;
}

// Returns the classic or coherent model, without graph tables and defects.
Result<std::unique_ptr<Model>> MakeBaseModel(const Settings& settings, uint64_t rows) {
  if (settings.model == "coherent") {
    return coherent::CoherentModel::Make(CoherentParameters(settings, rows));
  }
  return classic::ClassicModel::Make(ClassicOptions(settings, rows));
}

// Adds graph tables and defects where the settings ask for them.
std::unique_ptr<Model> Decorate(const Settings& settings, std::unique_ptr<Model> base) {
  if (settings.graph && settings.model == "coherent") {
    base = std::make_unique<GraphModel>(std::move(base));
  }
  if (!settings.defects.Any()) return base;
  return std::make_unique<DefectiveModel>(std::move(base), DefectsOf(settings));
}

// Counts the transactions of all blocks.
Result<uint64_t> CountRows(const Model& model, int threads, const OnPreparing& on_preparing) {
  constexpr std::chrono::milliseconds kPollInterval(50);
  const uint64_t blocks = model.blocks();
  std::atomic<uint64_t> next = 0;
  std::atomic<uint64_t> rows = 0;
  struct {
    Mutex mutex;
    CondVar finished;
    uint64_t done GUARDED_BY(mutex) = 0;
  } counted;
  const auto count = [&] {
    for (uint64_t block = next++; block < blocks; block = next++) {
      rows += model.RowsOf(coherent::kTransactions, block);
      const MutexLock lock(counted.mutex);
      if (++counted.done == blocks) counted.finished.NotifyOne();
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads && static_cast<uint64_t>(i) < blocks; ++i) {
    workers.emplace_back(count);
  }
  MutexLock lock(counted.mutex);
  while (counted.done < blocks) {
    if (counted.finished.WaitFor(counted.mutex, kPollInterval)) continue;
    const uint64_t done = counted.done;
    lock.Unlock();
    if (!on_preparing(done, blocks)) {
      next = blocks;
      return Fail(Error::Code::kUnavailable, "stopped");
    }
    lock.Lock();
  }
  return rows;
}

// Makes sample blocks until their extrapolated size meets the one asked for.
Result<uint64_t> SearchRows(const Settings& settings, const OnPreparing& on_preparing) {
  // The rows are the same with any labels.
  Settings sampled = settings;
  sampled.labels_as_of.reset();
  SizeSearch search(settings.size.value_or(Settings::kDefaultSize), settings.format,
                    settings.TextCodec());
  while (!search.done()) {
    ASSIGN_OR_RETURN(const auto model, MakeModel(sampled, search.rows()));
    ASSIGN_OR_RETURN(const auto estimate,
                     EstimateSize(
                         *model, settings.Options(), settings.FileRows(),
                         [&] { return on_preparing(0, 0); }, settings.Partition()));
    RETURN_IF_ERROR(search.Add(estimate));
  }
  return search.rows();
}

// Returns the rows that the settings give or, for a size, those that add up to it.
Result<uint64_t> RowsOf(const Settings& settings, const OnPreparing& on_preparing) {
  if (settings.rows) return *settings.rows;
  Result<uint64_t> rows = 0;
  // On a thread that ends, so that the allocator gives its arena to the next threads.
  std::jthread([&] { rows = SearchRows(settings, on_preparing); }).join();
  ReleaseWriterMemory();
  return rows;
}

MadeBy MadeByOf(const Settings& settings) {
  MadeBy made_by;
  made_by.program = "fraudgen " REVEZA_VERSION;
  made_by.model = settings.model;
  made_by.model_version = kModelVersion;
  made_by.seed = settings.seed;
  made_by.configuration = HashOf(HashedText(settings));
  made_by.SetOptions(settings.Options());
  return made_by;
}

}  // namespace

DefectOptions DefectsOf(const Settings& settings) {
  return {.seed = settings.seed,
          .rates = settings.defects,
          .numbers_as_text = !IsColumnar(settings.format)};
}

Result<std::unique_ptr<Model>> MakeModel(const Settings& settings, uint64_t rows) {
  ASSIGN_OR_RETURN(auto base, MakeBaseModel(settings, rows));
  return Decorate(settings, std::move(base));
}

std::string_view CreatedBy() { return "fraudgen version " REVEZA_VERSION " (build reveza)"; }

RunOptions PreparedRun::Options(int threads) const {
  RunOptions options{.table = settings.Options(),
                     .made_by = MadeByOf(settings),
                     .configuration = ConfigurationText(settings, Comments::kYes),
                     .threads = threads};
  options.table.created_by = CreatedBy();
  return options;
}

Result<PreparedRun> PrepareRun(const Settings& settings, Shard shard, int threads,
                               const OnPreparing& on_preparing) {
  uint64_t rows = 0;
  if (!settings.IsGrowing()) {
    ASSIGN_OR_RETURN(rows, RowsOf(settings, on_preparing));
  }
  ASSIGN_OR_RETURN(auto base, MakeBaseModel(settings, rows));
  if (settings.IsGrowing()) {
    ASSIGN_OR_RETURN(rows, CountRows(*base, threads, on_preparing));
  }
  Settings resolved = settings.Resolved(rows);
  auto model = Decorate(resolved, std::move(base));
  ASSIGN_OR_RETURN(auto plan, Plan::Make(*model, resolved.format, resolved.FileRows(), shard,
                                         resolved.Partition(), resolved.TextCodec()));
  if (!resolved.partition.empty() && !plan.IsPartitioned()) {
    return InvalidArgument(
        "partition: no table of this model has the columns {}; see `fraudgen schema`",
        fmt::join(resolved.partition, " and "));
  }
  return PreparedRun{{rows, std::move(resolved), std::move(model)}, std::move(plan)};
}

Result<PreparedModel> PrepareRows(const Settings& settings, const OnPreparing& on_preparing) {
  uint64_t rows = 0;
  if (!settings.IsGrowing()) {
    ASSIGN_OR_RETURN(rows, RowsOf(settings, on_preparing));
  }
  Settings resolved = settings.Resolved(rows);
  ASSIGN_OR_RETURN(auto model, MakeModel(resolved, rows));
  return PreparedModel{rows, std::move(resolved), std::move(model)};
}

Result<PreparedModel> PrepareStream(const Settings& settings, int threads,
                                    const OnPreparing& on_preparing) {
  const bool growing = settings.IsGrowing();
  uint64_t rows = 0;
  if (!growing && settings.default_size) {
    rows = kDefaultStreamRows;
  } else if (!growing) {
    ASSIGN_OR_RETURN(rows, RowsOf(settings, on_preparing));
  }
  Settings resolved = settings.Resolved(rows);
  ASSIGN_OR_RETURN(auto model, MakeBaseModel(resolved, rows));
  if (model->IsInOrder() && model->blocks() > kMaxStreamBlocks) {
    return InvalidArgument(
        "a stream of {} rows would keep too many customers in memory; choose a shorter period and "
        "at most {} rows",
        rows, kMaxStreamRows);
  }
  if (growing && !settings.defects.Any()) {
    rows = model->RowsOf(coherent::kTransactions, 0) * model->blocks();
  } else if (growing) {
    ASSIGN_OR_RETURN(rows, CountRows(*model, threads, on_preparing));
  }
  return PreparedModel{rows, std::move(resolved), std::move(model)};
}

}  // namespace reveza::fraudgen
