#include "datagen/check/check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "datagen/check/cpf_check.h"
#include "datagen/check/data_set.h"
#include "datagen/check/graph_check.h"
#include "datagen/check/key_check.h"
#include "datagen/check/label_check.h"
#include "datagen/check/mender.h"
#include "datagen/check/ride_timeline.h"
#include "datagen/check/row_rules.h"
#include "datagen/check/row_source.h"
#include "datagen/check/shares.h"
#include "datagen/check/timeline.h"
#include "datagen/run/receipts.h"

namespace reveza::datagen::check {
namespace {

// What was asked for, if the folder has it and it makes sense. An error where it cannot be read:
// who judged by other settings would judge wrongly.
Result<std::optional<Settings>> ReadSettings(const DataSet& data, std::vector<Outcome>& outcomes) {
  const std::string name(kConfigurationName);
  const auto text = data.place->ReadSmall(name);
  const std::string what = "settings: " + name + " can be read";
  if (!text) return std::unexpected(text.error());
  if (!*text) {
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
    const uint64_t broken = PlaceOf(data.RowsOf("transactions") > 0 ? "transactions" : "rides");
    std::ranges::sort(data.files, {}, [&](const FileManifest& file) {
      const uint64_t table = PlaceOf(file.table);
      uint64_t last = table;
      if (file.table == "transactions") last = data.tables().size();
      if (file.table == "rides") last = data.tables().size() + 1;
      if (data.coherent()) return std::tuple(file.block, last, uint64_t{0}, file.part);
      // The answer key goes along with the rows that it is about, so that not all of it is kept.
      const bool key = file.table == kDefects.name;
      return std::tuple(key ? broken : table, file.block, uint64_t{key ? 0U : 1U}, file.part);
    });
  }

  // Every row goes by every check. False if it was told to stop.
  bool Go(const std::vector<TableCheck*>& checks, bool first_pass) {
    BeginMending();
    for (std::size_t i = 0; i < data_.files.size(); ++i) {
      const FileManifest& file = data_.files[i];
      if (!ReadFile(file, checks, first_pass)) return false;
      const FileManifest* next = i + 1 == data_.files.size() ? nullptr : &data_.files[i + 1];
      const bool ends = next == nullptr || next->block != file.block;
      const auto mender = menders_.find(file.table);
      if (mender != menders_.end() && (ends || next->table != file.table)) {
        mender->second.EndBlock({.file = file.file, .block = file.block}, ShowTo(checks));
      }
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
      const auto mender = menders_.find(name);
      const bool broken = mender != menders_.end();
      outcomes.push_back(faults.columns.outcome());
      outcomes.push_back(faults.nulls.OutcomeBut(broken ? mender->second.nulls() : 0));
      outcomes.push_back(faults.categories.OutcomeBut(broken ? mender->second.categories() : 0));
      outcomes.push_back(faults.values.OutcomeBut(broken ? mender->second.texts() : 0));
      if (broken) mender->second.Report(outcomes);
    }
  }

 private:
  uint64_t PlaceOf(std::string_view table) const {
    const auto found = std::ranges::find(data_.tables(), table, &Table::name);
    return static_cast<uint64_t>(found - data_.tables().begin());
  }

  bool ReadFile(const FileManifest& file, const std::vector<TableCheck*>& checks, bool first_pass) {
    const Table& table = *data_.Find(file.table);
    ReadFaults unused(table);
    ReadFaults& faults = first_pass ? faults_.at(table.name) : unused;
    Position position{.file = file.file, .block = file.block};
    const auto mender = menders_.find(table.name);
    auto batch = std::make_shared<Batch>(table);
    auto bytes = data_.place->Open(file.file);
    auto source = bytes ? OpenRows(*std::move(bytes), data_.options(), table, file.file, faults)
                        : std::unexpected(bytes.error());
    Result<bool> more = source ? Result<bool>(true) : std::unexpected(source.error());
    while (more && *more) {
      more = (*source)->Next(*batch);
      if (!more || !*more) break;
      const std::size_t rows = batch->rows();
      if (mender == menders_.end()) {
        ShowTo(checks)(*batch, position);
        if (&table == &kDefects) Expect(*batch);
      } else {
        // It keeps the rows until their turn has come.
        mender->second.Take(std::exchange(batch, std::make_shared<Batch>(table)), position,
                            ShowTo(checks));
      }
      position.first_row += rows;
      rows_gone_by_ += rows;
      if (!on_rows_(rows_gone_by_)) return false;
    }
    if (!more) readable_.Bad(more.error().message);
    if (!first_pass) return true;
    readable_.Look();
    rows_.Look();
    if (more && position.first_row != file.rows) {
      rows_.Bad(fmt::format("{} has {} rows, its manifest says {}", file.file, position.first_row,
                            file.rows));
    }
    return true;
  }

  static Mender::Emit ShowTo(const std::vector<TableCheck*>& checks) {
    return [&checks](const Batch& batch, const Position& position) {
      for (TableCheck* check : checks) check->Look(batch, position);
    };
  }

  // Of rows that are broken on purpose, the checks see what they would be without it.
  void BeginMending() {
    menders_.clear();
    if (!data_.defective()) return;
    for (const std::string_view name : kBreakableTables) {
      const Table* table = data_.Find(name);
      if (table == nullptr) continue;
      const auto rows = data_.InFolders(name) ? Mender::Rows::kInFolders
                        : data_.coherent()    ? Mender::Rows::kOrdered
                                              : Mender::Rows::kNumbered;
      menders_.emplace(name, Mender(*table, rows));
    }
  }

  void Expect(const Batch& key) {
    for (auto& [name, mender] : menders_) mender.Expect(key);
  }

  DataSet& data_;
  const OnRows& on_rows_;
  std::map<std::string_view, Mender> menders_;
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
  const auto read = ReadSettings(*data, result.outcomes);
  if (!read) return std::unexpected(read.error());
  const std::optional<Settings>& settings = *read;
  checks.push_back(std::make_unique<LabelCheck>(settings));
  if (data->coherent()) {
    checks.push_back(CheckRules(CoherentRules()));
    checks.push_back(CheckRules(CoherentRideRules()));
    const bool broken =
        data->defective() && (data->InFolders("transactions") || data->InFolders("rides"));
    if (broken || data->DividedByValues()) {
      result.outcomes.push_back(
          {Outcome::Verdict::kSkipped, "timeline: what rows say of each other",
           broken ? "in folders the places of rows that are late on purpose are not known"
                  : "the rows are divided by their values, not in order of time"});
    } else {
      checks.push_back(std::make_unique<TimelineCheck>());
      checks.push_back(std::make_unique<RideTimelineCheck>());
    }
    checks.push_back(
        CheckShares(CoherentShares(settings ? settings->behaviour : coherent::Parameters()), {},
                    /*by_profile=*/false));
    if (data->Find("edges") != nullptr) checks.push_back(std::make_unique<GraphCheck>());
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
