#include "datagen/check/check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "datagen/check/cpf_check.h"
#include "datagen/check/data_set.h"
#include "datagen/check/key_check.h"
#include "datagen/check/label_check.h"
#include "datagen/check/row_rules.h"
#include "datagen/check/row_source.h"
#include "datagen/check/shares.h"
#include "datagen/check/timeline.h"
#include "datagen/run/receipts.h"

namespace reveza::datagen::check {
namespace {

// What was asked for, if the folder has it and it can be read.
std::optional<Settings> ReadSettings(const DataSet& data, std::vector<Outcome>& outcomes) {
  const std::string name(kConfigurationName);
  const auto text = data.place->ReadSmall(name);
  const std::string what = "settings: " + name + " can be read";
  if (!text || !*text) {
    outcomes.push_back({Outcome::Verdict::kSkipped, what, "it is not there"});
    return std::nullopt;
  }
  Configuration configuration;
  if (auto added = configuration.AddText(**text, name); !added) {
    outcomes.push_back({Outcome::Verdict::kFinding, what, added.error().message});
    return std::nullopt;
  }
  outcomes.push_back({Outcome::Verdict::kFine, what, "1 looked at"});
  return configuration.settings();
}

class Reading {
 public:
  Reading(DataSet& data, const OnRows& on_rows) : data_(data), on_rows_(on_rows) {
    for (const Table* table : data.tables()) faults_.emplace(table->name, *table);
    // What is referred to comes before what refers to it. Where people live in one block, that is
    // read block by block; the payments, which are most of it, last.
    std::ranges::sort(data.files, {}, [&](const FileManifest& file) {
      const auto table = static_cast<uint64_t>(
          std::ranges::find(data.tables(), file.table, &Table::name) - data.tables().begin());
      const uint64_t last = file.table == "transactions" ? data.tables().size() : table;
      return data.coherent() ? std::tuple(file.block, last, file.part)
                             : std::tuple(table, file.block, file.part);
    });
  }

  // Every row goes by every check. False if it was told to stop.
  bool Go(const std::vector<TableCheck*>& checks, bool first_pass) {
    for (std::size_t i = 0; i < data_.files.size(); ++i) {
      if (!ReadFile(data_.files[i], checks, first_pass)) return false;
      const bool ends =
          i + 1 == data_.files.size() || data_.files[i + 1].block != data_.files[i].block;
      if (!data_.coherent() || !ends) continue;
      for (TableCheck* check : checks) check->EndBlock();
    }
    return true;
  }

  void Report(std::vector<Outcome>& outcomes) const {
    outcomes.push_back(readable_.outcome());
    outcomes.push_back(rows_.outcome());
    for (const auto& [name, faults] : faults_) {
      if (data_.RowsOf(name) == 0) continue;
      for (const Tally* tally :
           {&faults.columns, &faults.nulls, &faults.categories, &faults.values}) {
        outcomes.push_back(tally->outcome());
      }
    }
  }

 private:
  bool ReadFile(const FileManifest& file, const std::vector<TableCheck*>& checks, bool first_pass) {
    const Table& table = *data_.Find(file.table);
    ReadFaults unused(table);
    ReadFaults& faults = first_pass ? faults_.at(table.name) : unused;
    Position position{.file = file.file, .block = file.block};
    Batch batch(table);
    auto bytes = data_.place->Open(file.file);
    auto source = bytes ? OpenRows(*std::move(bytes), data_.options(), table, file.file, faults)
                        : std::unexpected(bytes.error());
    Result<bool> more = source ? Result<bool>(true) : std::unexpected(source.error());
    while (more && *more) {
      more = (*source)->Next(batch);
      if (!more || !*more) break;
      for (TableCheck* check : checks) check->Look(batch, position);
      position.first_row += batch.rows();
      rows_gone_by_ += batch.rows();
      if (!on_rows_(rows_gone_by_)) return false;
    }
    if (!first_pass) return true;
    readable_.Look();
    rows_.Look();
    if (!more) {
      readable_.Bad(more.error().message);
    } else if (position.first_row != file.rows) {
      rows_.Bad(fmt::format("{} has {} rows, its manifest says {}", file.file, position.first_row,
                            file.rows));
    }
    return true;
  }

  DataSet& data_;
  const OnRows& on_rows_;
  std::map<std::string_view, ReadFaults> faults_;
  Tally readable_{"files: can be read to the end"};
  Tally rows_{"files: rows are those of the manifests"};
  uint64_t rows_gone_by_ = 0;
};

}  // namespace

Result<CheckResult> CheckData(const std::shared_ptr<Destination>& place, const OnRows& on_rows) {
  CheckResult result;
  auto data = OpenDataSet(place, result.outcomes);
  if (!data) return std::unexpected(std::move(data).error());
  std::vector<std::unique_ptr<TableCheck>> checks;
  KeyCheck keys(*data);
  checks.push_back(std::make_unique<CpfCheck>());
  checks.push_back(std::make_unique<LabelCheck>(ReadSettings(*data, result.outcomes)));
  if (data->coherent()) {
    checks.push_back(CheckRules(CoherentRules()));
    if (data->DividedByValues()) {
      result.outcomes.push_back({Outcome::Verdict::kSkipped,
                                 "timeline: what rows say of each other",
                                 "the rows are divided by their values, not in order of time"});
    } else {
      checks.push_back(std::make_unique<TimelineCheck>());
    }
    checks.push_back(CheckShares(CoherentShares(), {}, /*by_profile=*/false));
  } else {
    checks.push_back(CheckRules(ClassicRules()));
    checks.push_back(CheckShares(ClassicShares(), ClassicCurves(), /*by_profile=*/true));
  }
  Reading reading(*data, on_rows);
  const uint64_t passes = KeyPasses(*data);
  for (uint64_t pass = 0; pass < passes && !result.stopped; ++pass) {
    keys.BeginPass({.index = pass, .count = passes});
    std::vector<TableCheck*> now = {&keys};
    if (pass == 0) {
      for (const auto& check : checks) now.push_back(check.get());
    }
    result.stopped = !reading.Go(now, pass == 0);
  }
  if (result.stopped) return result;
  reading.Report(result.outcomes);
  keys.Report(result.outcomes);
  for (const auto& check : checks) check->Report(result.outcomes);
  result.findings = static_cast<uint64_t>(
      std::ranges::count(result.outcomes, Outcome::Verdict::kFinding, &Outcome::verdict));
  return result;
}

}  // namespace reveza::datagen::check
