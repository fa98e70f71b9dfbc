#include "fraudgen/check/check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "fraudgen/check/data_set.h"
#include "fraudgen/check/defect_repair.h"
#include "fraudgen/check/key_check.h"
#include "fraudgen/check/row_source.h"
#include "fraudgen/check/table_check.h"
#include "fraudgen/run/manifest_store.h"

namespace reveza::fraudgen::check {
namespace {

// Reads the stored settings; nullopt if they are missing or invalid. Fails if they cannot be read,
// because checks against wrong settings would be wrong.
Result<std::optional<Settings>> ReadSettings(const DataSet& data, std::vector<Outcome>& outcomes) {
  const std::string& name = data.settings_name;
  const auto text = data.place->ReadSmall(name);
  const std::string check = "settings: " + name + " is readable";
  if (!text) return std::unexpected(text.error());
  if (!*text) {
    outcomes.push_back({Outcome::Verdict::kSkipped, check, "not found"});
    return std::nullopt;
  }
  SettingsBuilder builder;
  const Status added = builder.AddText(**text, name);
  const Result<Settings> settings = added ? builder.Build() : std::unexpected(added.error());
  if (!settings) {
    outcomes.push_back({Outcome::Verdict::kFailed, check, settings.error().message});
    return std::nullopt;
  }
  outcomes.push_back({Outcome::Verdict::kPassed, check, "1 checked"});
  return *settings;
}

// Passes all rows of a data set to its checks.
class RowPass {
 public:
  RowPass(DataSet& data, const OnRows& on_rows) : data_(data), on_rows_(on_rows) {
    for (const Table* table : data.tables()) faults_.emplace(table->name, *table);
    // Referenced tables come before referring ones. The coherent model keeps customers within a
    // block, so it is read block by block, with payments last.
    const uint64_t broken = OrderOf(data.RowsOf("transactions") > 0 ? "transactions" : "rides");
    std::ranges::sort(data.files, {}, [&](const FileManifest& file) {
      const uint64_t table = OrderOf(file.table);
      uint64_t last = table;
      if (file.table == "transactions") last = data.tables().size();
      if (file.table == "rides") last = data.tables().size() + 1;
      if (data.coherent()) return std::tuple(file.block, last, uint64_t{0}, file.part);
      // The answer key is interleaved with its rows, so that not all of it is in memory.
      const bool key = file.table == kDefects.name;
      return std::tuple(key ? broken : table, file.block, uint64_t{key ? 0U : 1U}, file.part);
    });
  }

  // Passes every row to every check. Returns false if stopped.
  bool Run(const std::vector<TableCheck*>& checks, bool first_pass) {
    CreateRepairs();
    for (std::size_t i = 0; i < data_.files.size(); ++i) {
      const FileManifest& file = data_.files[i];
      if (!ReadFile(file, checks, first_pass)) return false;
      const FileManifest* next = i + 1 == data_.files.size() ? nullptr : &data_.files[i + 1];
      const bool ends = next == nullptr || next->block != file.block;
      const auto repair = repairs_.find(file.table);
      if (repair != repairs_.end() && (ends || next->table != file.table)) {
        repair->second.EndBlock({.file = file.file, .block = file.block}, PassTo(checks));
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
      const auto repair = repairs_.find(name);
      const bool defective = repair != repairs_.end();
      outcomes.push_back(faults.columns.outcome());
      outcomes.push_back(faults.nulls.OutcomeExpecting(defective ? repair->second.nulls() : 0));
      outcomes.push_back(
          faults.categories.OutcomeExpecting(defective ? repair->second.categories() : 0));
      outcomes.push_back(faults.values.OutcomeExpecting(defective ? repair->second.texts() : 0));
      if (defective) repair->second.Report(outcomes);
    }
  }

 private:
  uint64_t OrderOf(std::string_view table) const {
    const auto found = std::ranges::find(data_.tables(), table, &Table::name);
    return static_cast<uint64_t>(found - data_.tables().begin());
  }

  bool ReadFile(const FileManifest& file, const std::vector<TableCheck*>& checks, bool first_pass) {
    const Table& table = *data_.Find(file.table);
    ReadFaults unused(table);
    ReadFaults& faults = first_pass ? faults_.at(table.name) : unused;
    Position position{.file = file.file, .block = file.block};
    const auto repair = repairs_.find(table.name);
    auto batch = std::make_shared<Batch>(table);
    auto bytes = data_.place->Open(file.file);
    auto source = bytes ? OpenRows(*std::move(bytes), data_.options(), table, file.file, faults)
                        : std::unexpected(bytes.error());
    Result<bool> more = source ? Result<bool>(true) : std::unexpected(source.error());
    while (more && *more) {
      more = (*source)->Next(*batch);
      if (!more || !*more) break;
      const std::size_t rows = batch->rows();
      if (repair == repairs_.end()) {
        PassTo(checks)(*batch, position);
        if (&table == &kDefects) Expect(*batch);
      } else {
        // Keeps rows until their original position.
        repair->second.Take(std::exchange(batch, std::make_shared<Batch>(table)), position,
                            PassTo(checks));
      }
      position.first_row += rows;
      rows_read_ += rows;
      if (!on_rows_(rows_read_)) return false;
    }
    if (!more) readable_.AddFailure(more.error().message);
    if (!first_pass) return true;
    readable_.AddChecked();
    rows_.AddChecked();
    if (more && position.first_row != file.rows) {
      rows_.AddFailure("{} has {} rows, {} in its manifest", file.file, position.first_row,
                       file.rows);
    }
    return true;
  }

  static DefectRepair::Emit PassTo(const std::vector<TableCheck*>& checks) {
    return [&checks](const Batch& batch, const Position& position) {
      for (TableCheck* check : checks) check->Add(batch, position);
    };
  }

  // Checks see injected defects repaired.
  void CreateRepairs() {
    repairs_.clear();
    if (!data_.defective()) return;
    for (const std::string_view name : kBreakableTables) {
      const Table* table = data_.Find(name);
      if (table == nullptr) continue;
      const auto rows = data_.InFolders(name) ? DefectRepair::Rows::kInFolders
                        : data_.coherent()    ? DefectRepair::Rows::kOrdered
                                              : DefectRepair::Rows::kNumbered;
      repairs_.emplace(name, DefectRepair(*table, rows));
    }
  }

  void Expect(const Batch& key) {
    for (auto& [name, repair] : repairs_) repair.Expect(key);
  }

  DataSet& data_;
  const OnRows& on_rows_;
  std::map<std::string_view, DefectRepair> repairs_;
  std::map<std::string_view, ReadFaults> faults_;
  Tally readable_{"files: readable to the end"};
  Tally rows_{"files: row counts match the manifests"};
  uint64_t rows_read_ = 0;
};

}  // namespace

std::string SummaryOf(const CheckResult& result) {
  const std::size_t total = result.outcomes.size();
  const auto skipped = static_cast<std::size_t>(
      std::ranges::count(result.outcomes, Outcome::Verdict::kSkipped, &Outcome::verdict));
  std::string text = result.findings == 0
                         ? fmt::format("{} checks passed", total - skipped)
                         : fmt::format("{} of {} checks failed", result.findings, total - skipped);
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  return text;
}

Result<CheckResult> CheckData(const std::shared_ptr<Destination>& place, const OnRows& on_rows) {
  CheckResult result;
  ASSIGN_OR_RETURN(auto data, OpenDataSet(place, result.outcomes));
  std::vector<std::unique_ptr<TableCheck>> checks;
  KeyCheck keys(data);
  checks.push_back(CheckCpfs());
  ASSIGN_OR_RETURN(const auto read, ReadSettings(data, result.outcomes));
  const std::optional<Settings>& settings = read;
  checks.push_back(CheckLabels(settings));
  if (data.coherent()) {
    checks.push_back(CheckCoherentRules());
    const bool broken =
        data.defective() && (data.InFolders("transactions") || data.InFolders("rides"));
    if (broken || data.DividedByValues()) {
      result.outcomes.push_back(
          {Outcome::Verdict::kSkipped, "timeline: consistency between rows",
           broken ? "the positions of displaced rows are not known in partitioned tables"
                  : "partitioned rows are not in order of time"});
    } else {
      checks.push_back(CheckTimeline());
    }
    checks.push_back(CheckCoherentShares(settings ? settings->behaviour : coherent::Parameters()));
    if (data.Find("edges") != nullptr) checks.push_back(CheckGraph());
  } else {
    checks.push_back(CheckClassicRules());
    checks.push_back(CheckClassicShares());
  }
  RowPass rows(data, on_rows);
  const uint64_t passes = KeyPasses(data);
  for (uint64_t pass = 0; pass < passes && !result.stopped; ++pass) {
    keys.BeginPass({.index = pass, .count = passes});
    std::vector<TableCheck*> now = {&keys};
    if (pass == 0) {
      for (const auto& check : checks) now.push_back(check.get());
    }
    result.stopped = !rows.Run(now, pass == 0);
  }
  if (result.stopped) return result;
  rows.Report(result.outcomes);
  keys.Report(result.outcomes);
  for (const auto& check : checks) check->Report(result.outcomes);
  result.findings = static_cast<uint64_t>(
      std::ranges::count(result.outcomes, Outcome::Verdict::kFailed, &Outcome::verdict));
  return result;
}

}  // namespace reveza::fraudgen::check
