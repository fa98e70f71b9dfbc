#include "models.h"

#include <malloc.h>

#include <utility>

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
  parameters.identities =
      settings.safe_identities ? datagen::Identities::kSafe : datagen::Identities::kValid;
  parameters.difficulty = settings.difficulty;
  return parameters;
}

Result<std::unique_ptr<datagen::Model>> MakeSoundModel(const Settings& settings, uint64_t rows) {
  if (settings.model == "coherent") {
    return datagen::coherent::CoherentModel::Make(CoherentParameters(settings, rows));
  }
  return datagen::classic::ClassicModel::Make(ClassicOptions(settings, rows));
}

}  // namespace

Result<std::unique_ptr<datagen::Model>> MakeModel(const Settings& settings, uint64_t rows) {
  auto model = MakeSoundModel(settings, rows);
  if (model && settings.graph && settings.model == "coherent") {
    model = std::make_unique<datagen::GraphModel>(*std::move(model));
  }
  if (!model || !settings.defects.Any()) return model;
  const bool columnar =
      settings.format == datagen::Format::kParquet || settings.format == datagen::Format::kArrow;
  return std::make_unique<datagen::DefectiveModel>(
      *std::move(model),
      datagen::DefectOptions{
          .seed = settings.seed, .rates = settings.defects, .numbers_as_text = !columnar});
}

Result<uint64_t> RowsOf(const Settings& settings, const std::function<bool()>& on_batch) {
  if (settings.rows) return *settings.rows;
  if (settings.Growing()) {
    const auto model = MakeSoundModel(settings, 0);
    if (!model) return std::unexpected(model.error());
    uint64_t count = 0;
    for (uint64_t block = 0; block < (*model)->blocks(); ++block) {
      if (!on_batch()) return Fail(Error::Code::kUnavailable, "stopped");
      count += (*model)->RowsOf(datagen::coherent::kTransactions, block);
    }
    return count;
  }
  auto rows = datagen::RowsForSize(
      settings.size.value_or(Settings::kDefaultSize),
      [&](uint64_t count) { return MakeModel(settings, count); }, settings.Options(),
      settings.FileRows(), on_batch, settings.Partition());
  // What trying has left would stay beside what the threads need.
  datagen::ReleaseWriterMemory();
  malloc_trim(0);
  return rows;
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
