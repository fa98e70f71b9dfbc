#include "datagen/report/facts.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "datagen/check/data_set.h"
#include "datagen/check/row_source.h"
#include "datagen/run/folder.h"
#include "datagen/run/receipts.h"
#include "datagen/run/settings.h"

namespace reveza::datagen::report {
namespace {

namespace fs = std::filesystem;

// What is referred to comes before what refers to it.
constexpr std::array<std::string_view, 5> kOrder = {"rings", "customers", "accounts",
                                                    "transactions", "rides"};

Result<std::optional<uint32_t>> ReadDifficulty(const check::DataSet& data) {
  const auto text = data.place->ReadSmall(kConfigurationName);
  if (!text) return std::unexpected(text.error());
  Configuration configuration;
  if (!data.coherent() || !*text ||
      !configuration.AddText(**text, std::string(kConfigurationName))) {
    return std::nullopt;
  }
  return configuration.settings().difficulty;
}

std::vector<TableFacts> TablesOf(const check::DataSet& data) {
  std::vector<TableFacts> tables;
  for (const Table* table : data.tables()) {
    TableFacts facts{.table = table};
    for (const FileManifest& file : data.files) {
      if (file.table != table->name) continue;
      ++facts.files;
      facts.rows += file.rows;
      facts.bytes += file.bytes;
    }
    if (facts.files != 0) tables.push_back(facts);
  }
  return tables;
}

class Collecting {
 public:
  Collecting(const check::DataSet& data, const OnRows& on_rows)
      : data_(data), on_rows_(on_rows), people_(data.RowsOf("customers")) {}

  Status Go(Facts& facts) {
    for (const std::string_view name : kOrder) {
      const Table* table = data_.Find(name);
      if (table == nullptr) continue;
      const auto events = std::ranges::find(EventTables(), name, &EventTable::name);
      if (events != EventTables().end() && data_.RowsOf(name) != 0) {
        events_ = std::make_unique<Events>(*events, *table);
      }
      check::ReadFaults faults(*table);
      const std::array<Pair, lists::kStates.size()> before = people_.events();
      for (const FileManifest& file : data_.files) {
        if (file.table != name || facts.stopped) continue;
        auto go_on = ReadFile(file, *table, faults);
        if (!go_on) return std::unexpected(std::move(go_on).error());
        facts.stopped = !*go_on;
      }
      facts.unreadable_values += faults.nulls.bad() + faults.categories.bad() + faults.values.bad();
      if (name == "rings") chain_.Choose();
      if (!events_) continue;
      EventFacts done{.events = std::move(events_), .by_state = people_.events()};
      for (std::size_t state = 0; state < done.by_state.size(); ++state) {
        done.by_state[state].honest -= before[state].honest;
        done.by_state[state].fraud -= before[state].fraud;
      }
      facts.events.push_back(std::move(done));
    }
    facts.customers = people_.customers();
    facts.sampled = people_.sampled();
    facts.chain = chain_.Hops();
    if (!facts.chain.empty()) facts.ring = chain_.ring();
    return {};
  }

 private:
  // False if it was told to stop.
  Result<bool> ReadFile(const FileManifest& file, const Table& table, check::ReadFaults& faults) {
    auto bytes = data_.place->Open(file.file);
    if (!bytes) return std::unexpected(std::move(bytes).error());
    auto source = check::OpenRows(*std::move(bytes), data_.options(), table, file.file, faults);
    if (!source) return std::unexpected(std::move(source).error());
    Batch batch(table);
    for (;;) {
      const auto more = (*source)->Next(batch);
      if (!more) return std::unexpected(more.error());
      if (!*more) return true;
      Look(batch);
      rows_ += batch.rows();
      if (!on_rows_(rows_)) return false;
    }
  }

  void Look(const Batch& batch) {
    const std::string_view name = batch.table().name;
    if (name == "rings") chain_.LookAtRings(batch);
    if (name == "customers") people_.LookAtCustomers(batch);
    if (name == "accounts") chain_.LookAtAccounts(batch);
    if (name == "transactions" && data_.coherent()) chain_.LookAtTransactions(batch);
    if (events_) events_->Look(batch, people_);
  }

  const check::DataSet& data_;
  const OnRows& on_rows_;
  People people_;
  ChainFinder chain_;
  std::unique_ptr<Events> events_;  // of the table that goes by
  uint64_t rows_ = 0;
};

}  // namespace

Result<Facts> CollectFacts(const fs::path& folder, const OnRows& on_rows) {
  std::vector<check::Outcome> outcomes;
  const auto data =
      check::OpenDataSet(std::make_shared<Folder>(folder), outcomes, check::Contents::kTrusted);
  if (!data) return std::unexpected(data.error());
  Facts facts;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  facts.name = (error || whole.filename().empty() ? folder : whole.filename()).string();
  facts.made_by = data->made_by;
  facts.whole = fs::exists(folder / kManifestName, error);
  const auto difficulty = ReadDifficulty(*data);
  if (!difficulty) return std::unexpected(difficulty.error());
  facts.difficulty = *difficulty;
  facts.tables = TablesOf(*data);
  if (auto gone = Collecting(*data, on_rows).Go(facts); !gone) {
    return std::unexpected(std::move(gone).error());
  }
  return facts;
}

}  // namespace reveza::datagen::report
