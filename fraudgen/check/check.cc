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
    for (const FileManifest& file : data.files) {
      const std::size_t blocks = std::max<std::size_t>(1, file.rows_of_blocks.size());
      for (std::size_t i = 0; i < blocks; ++i) {
        const bool last = i + 1 == blocks;
        pieces_.push_back({.file = &file,
                           .block = file.block + i,
                           .rows = last ? UINT64_MAX : file.rows_of_blocks[i],
                           .first = i == 0,
                           .last = last});
      }
    }
    // Referenced tables come before referring ones. The coherent model keeps customers within a
    // block, so it is read block by block, with payments last.
    const uint64_t broken = OrderOf(data.RowsOf("transactions") > 0 ? "transactions" : "rides");
    std::ranges::sort(pieces_, {}, [&](const Piece& piece) {
      const FileManifest& file = *piece.file;
      const uint64_t table = OrderOf(file.table);
      uint64_t last = table;
      if (file.table == "transactions") last = data.tables().size();
      if (file.table == "rides") last = data.tables().size() + 1;
      if (data.coherent()) return std::tuple(piece.block, last, uint64_t{0}, file.part);
      // The answer key is interleaved with its rows, so that not all of it is in memory.
      const bool key = file.table == kDefects.name;
      return std::tuple(key ? broken : table, piece.block, uint64_t{key ? 0U : 1U}, file.part);
    });
  }

  // Passes every row to every check. Returns false if stopped.
  bool Run(const std::vector<TableCheck*>& checks, bool first_pass) {
    CreateRepairs();
    readers_.clear();
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      const FileManifest& file = *piece.file;
      if (!ReadPiece(piece, checks, first_pass)) return false;
      const Piece* next = i + 1 == pieces_.size() ? nullptr : &pieces_[i + 1];
      const bool ends = next == nullptr || next->block != piece.block;
      const auto repair = repairs_.find(file.table);
      if (repair != repairs_.end() && (ends || next->file->table != file.table)) {
        repair->second.EndBlock({.file = file.file, .block = piece.block}, PassTo(checks));
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

  // The rows of one block in a file.
  struct Piece {
    const FileManifest* file = nullptr;
    uint64_t block = 0;
    uint64_t rows = 0;  // UINT64_MAX: to the end of the file
    bool first = false;
    bool last = false;
  };
  // A file that is being read, from its first piece to its last.
  struct Reader {
    explicit Reader(const Table& its_table)
        : table(&its_table), faults(its_table), batch(std::make_shared<Batch>(its_table)) {}
    const Table* table;
    ReadFaults faults;  // of passes after the first
    std::unique_ptr<RowSource> source;
    Status status;
    std::shared_ptr<Batch> batch;
    std::size_t taken = 0;  // rows of the batch that were passed on
    uint64_t rows = 0;      // passed on
  };

  Reader& Open(const FileManifest& file, bool first_pass) {
    const Table& table = *data_.Find(file.table);
    Reader& reader = readers_.emplace(&file, table).first->second;
    ReadFaults& faults = first_pass ? faults_.at(table.name) : reader.faults;
    auto bytes = data_.place->Open(file.file);
    auto source = bytes ? OpenRows(*std::move(bytes), data_.options(), table, file.file, faults)
                        : std::unexpected(bytes.error());
    if (source) {
      reader.source = *std::move(source);
    } else {
      reader.status = std::unexpected(source.error());
    }
    return reader;
  }

  // Reads a batch if all rows were taken. Returns false at the end or after an error.
  static bool Fill(Reader& reader) {
    if (reader.taken < reader.batch->rows()) return true;
    reader.taken = 0;
    reader.batch->Begin(0);
    if (!reader.status) return false;
    const auto more = reader.source->Next(*reader.batch);
    if (!more) reader.status = std::unexpected(more.error());
    if (more && *more) return true;
    reader.batch->Begin(0);
    return false;
  }

  bool ReadPiece(const Piece& piece, const std::vector<TableCheck*>& checks, bool first_pass) {
    const FileManifest& file = *piece.file;
    Reader& reader = piece.first ? Open(file, first_pass) : readers_.at(&file);
    for (uint64_t left = piece.rows; left > 0 && Fill(reader);) {
      const auto rows =
          static_cast<std::size_t>(std::min<uint64_t>(left, reader.batch->rows() - reader.taken));
      PassOn(reader, rows, {.file = file.file, .block = piece.block, .first_row = reader.rows},
             checks);
      reader.rows += rows;
      left -= rows;
      rows_read_ += rows;
      if (!on_rows_(rows_read_)) return false;
    }
    if (piece.last) {
      if (first_pass) ReportFile(file, reader);
      readers_.erase(&file);
    }
    return true;
  }

  // Passes on the next rows of the batch.
  void PassOn(Reader& reader, std::size_t rows, const Position& position,
              const std::vector<TableCheck*>& checks) {
    std::shared_ptr<Batch> batch = reader.batch;
    if (rows < reader.batch->rows()) {
      batch = std::make_shared<Batch>(*reader.table);
      batch->Begin(rows);
      // Damaged files have nulls in any column.
      for (std::size_t i = 0; i < reader.table->columns.size(); ++i) {
        if (!reader.batch->column(i).present.empty()) batch->column(i).present.assign(rows, 1);
      }
      AppendRows(*reader.batch, reader.taken, rows, *batch, 0);
    }
    reader.taken += rows;
    const auto repair = repairs_.find(reader.table->name);
    if (repair == repairs_.end()) {
      PassTo(checks)(*batch, position);
      if (reader.table == &kDefects) Expect(*batch);
      return;
    }
    // Keeps rows until their original position.
    repair->second.Take(std::move(batch), position, PassTo(checks));
    reader.batch = std::make_shared<Batch>(*reader.table);
    reader.taken = 0;
  }

  void ReportFile(const FileManifest& file, const Reader& reader) {
    if (!reader.status) readable_.AddFailure(reader.status.error().message);
    readable_.AddChecked();
    rows_.AddChecked();
    if (reader.status && reader.rows != file.rows) {
      rows_.AddFailure("{} has {} rows, {} in its manifest", file.file, reader.rows, file.rows);
    }
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
  std::vector<Piece> pieces_;
  std::map<const FileManifest*, Reader> readers_;
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
