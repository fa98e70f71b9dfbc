#include "models.h"

#include <malloc.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "datagen/classic/classic_model.h"
#include "datagen/coherent/coherent_model.h"
#include "datagen/defects/defective_model.h"
#include "datagen/graph/graph_model.h"
#include "datagen/output/arrow_writer.h"
#include "datagen/output/hashing_sink.h"
#include "datagen/run/pilot.h"

namespace reveza::fraudgen {
namespace {

using datagen::Rows;
using datagen::Settings;

datagen::classic::Options ClassicOptions(const Settings& settings, uint64_t rows) {
  datagen::classic::Options options{.seed = settings.seed,
                                    .customers = settings.customers,
                                    .frauds = settings.fraud_rate,
                                    .start = settings.Start(),
                                    .end = settings.End(),
                                    .as_of = settings.AsOf(),
                                    .profiles = settings.profiles};
  options.identities =
      settings.safe_identities ? datagen::Identities::kSafe : datagen::Identities::kValid;
  switch (settings.type) {
    case Rows::kOfTransactions:
      options.kind = datagen::classic::Kind::kTransactions;
      break;
    case Rows::kOfRides:
      options.kind = datagen::classic::Kind::kRides;
      break;
    case Rows::kOfBoth:
      options.kind = datagen::classic::Kind::kAll;
      break;
  }
  if (settings.type != Rows::kOfRides) options.transactions = rows;
  if (settings.type != Rows::kOfTransactions) options.rides = rows;
  return options;
}

datagen::coherent::Parameters CoherentParameters(const Settings& settings, uint64_t rows) {
  datagen::coherent::Parameters parameters = settings.behaviour;
  parameters.seed = settings.seed;
  parameters.rows = settings.type == Rows::kOfRides ? 0 : rows;
  parameters.rides = settings.type == Rows::kOfTransactions ? 0 : rows;
  parameters.customers = settings.customers.value_or(0);
  parameters.growing = settings.Growing();
  parameters.first_day = DaysOf(settings.Start());
  parameters.last_day = DaysOf(settings.End());
  parameters.frauds = settings.fraud_rate;
  parameters.frauds_of_pix = settings.real_frauds;
  parameters.identities =
      settings.safe_identities ? datagen::Identities::kSafe : datagen::Identities::kValid;
  parameters.difficulty = settings.difficulty;
  return parameters;
}

}  // namespace

Result<std::unique_ptr<datagen::Model>> MakeSoundModel(const Settings& settings, uint64_t rows) {
  if (settings.model == "coherent") {
    return datagen::coherent::CoherentModel::Make(CoherentParameters(settings, rows));
  }
  return datagen::classic::ClassicModel::Make(ClassicOptions(settings, rows));
}

datagen::DefectOptions DefectsOf(const Settings& settings) {
  const bool columnar =
      settings.format == datagen::Format::kParquet || settings.format == datagen::Format::kArrow;
  return {.seed = settings.seed, .rates = settings.defects, .numbers_as_text = !columnar};
}

namespace {

// What is asked for beside the model's own rows.
std::unique_ptr<datagen::Model> WithAdded(const Settings& settings,
                                          std::unique_ptr<datagen::Model> model) {
  if (settings.graph && settings.model == "coherent") {
    model = std::make_unique<datagen::GraphModel>(std::move(model));
  }
  if (!settings.defects.Any()) return model;
  return std::make_unique<datagen::DefectiveModel>(std::move(model), DefectsOf(settings));
}

}  // namespace

Result<std::unique_ptr<datagen::Model>> MakeModel(const Settings& settings, uint64_t rows) {
  auto model = MakeSoundModel(settings, rows);
  if (!model) return model;
  return WithAdded(settings, *std::move(model));
}

Result<uint64_t> CountRows(const datagen::Model& model, int threads,
                           const OnPreparing& on_preparing) {
  constexpr std::chrono::milliseconds kLook(50);
  const uint64_t blocks = model.blocks();
  std::atomic<uint64_t> next = 0;
  std::atomic<uint64_t> rows = 0;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t done = 0;
  const auto count = [&] {
    for (uint64_t block = next++; block < blocks; block = next++) {
      rows += model.RowsOf(datagen::coherent::kTransactions, block);
      const std::scoped_lock lock(mutex);
      ++done;
      changed.notify_one();
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < threads && static_cast<uint64_t>(i) < blocks; ++i)
    workers.emplace_back(count);
  for (;;) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, kLook, [&] { return done == blocks; });
    const uint64_t now = done;
    lock.unlock();
    if (now == blocks) return rows;
    if (on_preparing(now, blocks)) continue;
    next = blocks;
    return Fail(Error::Code::kUnavailable, "stopped");
  }
}

Result<uint64_t> RowsOf(const Settings& settings, const OnPreparing& on_preparing) {
  if (settings.rows) return *settings.rows;
  Result<uint64_t> rows = 0;
  // In a thread that ends: the next ones use its memory again, instead of memory beside it.
  std::jthread([&] {
    rows = datagen::RowsForSize(
        settings.size.value_or(Settings::kDefaultSize),
        [&](uint64_t count) { return MakeModel(settings, count); }, settings.Options(),
        settings.FileRows(), [&] { return on_preparing(0, 0); }, settings.Partition());
  }).join();
  datagen::ReleaseWriterMemory();
  malloc_trim(0);
  return rows;
}

Result<PreparedModel> PrepareModel(const Settings& settings, int threads,
                                   const OnPreparing& on_preparing) {
  PreparedModel prepared;
  if (!settings.Growing()) {
    const auto rows = RowsOf(settings, on_preparing);
    if (!rows) return std::unexpected(rows.error());
    prepared.rows = *rows;
  }
  auto model = MakeSoundModel(settings, prepared.rows);
  if (!model) return std::unexpected(model.error());
  if (settings.Growing()) {
    const auto rows = CountRows(**model, threads, on_preparing);
    if (!rows) return std::unexpected(rows.error());
    prepared.rows = *rows;
  }
  prepared.settings = settings.Resolved(prepared.rows);
  prepared.model = WithAdded(prepared.settings, *std::move(model));
  return prepared;
}

datagen::MadeBy MadeByOf(const Settings& settings) {
  datagen::MadeBy made_by;
  made_by.program = "fraudgen " REVEZA_VERSION;
  made_by.model = settings.model;
  made_by.seed = settings.seed;
  made_by.configuration = datagen::HashOf(datagen::HashedText(settings));
  made_by.SetOptions(settings.Options());
  return made_by;
}

std::string_view CreatedBy() { return "fraudgen version " REVEZA_VERSION " (build reveza)"; }

std::string_view MainTable(const Settings& settings) {
  return settings.type == Rows::kOfRides ? "rides" : "transactions";
}

}  // namespace reveza::fraudgen
