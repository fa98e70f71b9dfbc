#include "reveza/jobs/journal/import_records.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "common/base/error.h"
#include "common/platform/text_file.h"
#include "common/sqlite/sqlite.h"
#include "reveza/jobs/journal/journal_format.h"
#include "reveza/jobs/journal/verify_outputs.h"
#include "reveza/jobs/supervisor/record.h"

namespace reveza::jobs {
namespace {

namespace fs = std::filesystem;

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

// Returns the paths of all records, sorted by name and so by creation time.
Result<std::vector<fs::path>> ListRecords(const JobFolder& folder) {
  auto records = platform::ListFolder(folder.records());
  if (!records) {
    // Other errors must not be ignored: unreadable records may contain finished work.
    if (records.error().code == Error::Code::kNotFound) return std::vector<fs::path>{};
    return records;
  }
  std::erase_if(*records, [](const fs::path& path) { return path.extension() != ".record"; });
  return records;
}

Status AdoptIfNew(Journal& journal, const AttemptStarted& started) {
  ASSIGN_OR_RETURN(const auto known, journal.Find(started.name.identity));
  return known ? Status{} : journal.Adopt(started);
}

Status RecordUnknownOutcome(Journal& journal, const AttemptStarted& started, const BootId& boot,
                            ImportResult& imported) {
  AttemptResult result;
  result.name = started.name;
  result.outcome = Outcome::kUnknown;
  result.began = started.at;
  result.ended = started.at;
  ASSIGN_OR_RETURN(const auto noted,
                   journal.RecordAttempt(result, AttemptExtra{.peak = {}, .boot = boot}));
  imported.attempts += noted ? 1 : 0;
  imported.unknown += noted ? 1 : 0;
  return {};
}

// The records of which all is in the journal, with their sizes, as JSON in `meta`. A record grows
// by whatever else a supervisor may have to say.
constexpr const char* kImportedKey = "imported";

Result<nlohmann::json> ReadImported(Journal& journal) {
  ASSIGN_OR_RETURN(const auto kept, journal.Get(kImportedKey));
  auto sizes = nlohmann::json::parse(kept.value_or("{}"), nullptr, false);
  return sizes.is_object() ? std::move(sizes) : nlohmann::json::object();
}

// Returns the size of a record; nullopt if it cannot be told.
std::optional<std::uintmax_t> SizeOf(const fs::path& record) {
  std::error_code error;
  const auto size = fs::file_size(record, error);
  return error ? std::nullopt : std::optional(size);
}

// Waits until an orphaned supervisor has exited or started a step. An idle one may have an unread
// start request; importing its record now would start the same step twice.
Status AwaitIdleSupervisor(const fs::path& record) {
  constexpr auto kPollInterval = std::chrono::milliseconds(2);
  constexpr int kMaxPolls = 15'000;
  for (int i = 0; i < kMaxPolls; ++i) {
    ASSIGN_OR_RETURN(const auto held, IsHeld(record.string()));
    if (!held) return {};
    const auto read = ReadRecord(record.string());
    if (read && !read->entries.empty() &&
        !std::holds_alternative<AttemptResult>(read->entries.back())) {
      return {};
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return Fail(Error::Code::kUnavailable,
              "a supervisor of the previous runner is stuck; kill the process that holds {}",
              record.string());
}

// Adopts all steps in the records that the journal does not know; null: only reads the records.
// Fails if any of them cannot be read: a rebuild without it would be incomplete.
Status AdoptRecordedSteps(const JobFolder& folder, Journal* journal) {
  ASSIGN_OR_RETURN(const auto records, ListRecords(folder));
  for (const auto& path : records) {
    const auto record = ReadRecord(path.string());
    if (!record && record.error().code == Error::Code::kIncompatible) continue;
    if (!record) return std::unexpected(record.error());
    for (const auto& entry : record->entries) {
      const auto* started = std::get_if<AttemptStarted>(&entry);
      if (started == nullptr || journal == nullptr) continue;
      RETURN_IF_ERROR(AdoptIfNew(*journal, *started));
    }
  }
  return {};
}

Outcome OutcomeOf(const AttemptEntry& attempt) { return attempt.result.outcome; }

constexpr std::array kParts = {"-wal", "-shm", ""};

Error CannotReplace(const fs::path& path, const std::error_code& error) {
  return SystemError("cannot replace the journal " + path.string(), error.value());
}

// Links or copies the damaged journal to journal.db.damaged-N. Its -wal and -shm files get the same
// number, as SQLite finds them by name.
Status KeepDamaged(const fs::path& journal) {
  std::error_code error;
  for (int number = 1;; ++number) {
    const std::string to = fmt::format("{}.damaged-{}", journal.string(), number);
    const auto is_taken = [&](const char* part) { return fs::exists(to + part, error); };
    if (std::ranges::any_of(kParts, is_taken)) continue;
    for (const char* part : kParts) {
      const fs::path from = journal.string() + part;
      if (!fs::exists(from, error)) continue;
      fs::create_hard_link(from, to + part, error);
      if (error) fs::copy_file(from, to + part, error);  // no hard links on this file system
      if (error) return std::unexpected(CannotReplace(from, error));
    }
    return {};
  }
}

// Moves the new journal into place; the damaged one keeps its name until the final rename.
Status InstallJournal(const fs::path& fresh, const fs::path& journal) {
  std::error_code error;
  const fs::path log = fresh.string() + "-wal";
  if (fs::exists(log, error) && fs::file_size(log, error) > 0) {
    return Fail(Error::Code::kUnavailable, "another process has opened " + fresh.string());
  }
  RETURN_IF_ERROR(KeepDamaged(journal));
  for (const char* part : {"-wal", "-shm"}) {
    fs::remove(journal.string() + part, error);
    if (error) return std::unexpected(CannotReplace(journal, error));
  }
  fs::rename(fresh, journal, error);
  if (error) return std::unexpected(CannotReplace(journal, error));
  return {};
}

struct Salvaged {
  std::map<std::string, std::string> meta;  // rows of `meta`, by key
  std::vector<StepEntry> steps;             // distinct
  std::vector<AttemptEntry> attempts;       // distinct, ordered by sequence
};

// Reads rows from both ends, to reach those beyond an unreadable page. The limit ends loops in
// damaged pages; no real table is that large.
template <typename Take>
Status ScanRows(Database& database, const char* select, const char* key, Take take) {
  constexpr std::uint64_t kMaxRows = 100'000'000;
  for (const char* order : {"ASC", "DESC"}) {
    auto rows = database.Prepare(fmt::format("{} ORDER BY {} {}", select, key, order));
    if (!rows && sqlite::IsAccessError(rows.error())) return std::unexpected(rows.error());
    if (!rows) return {};
    for (std::uint64_t count = 0; count < kMaxRows; ++count) {
      const auto row = rows->Step();
      if (!row && sqlite::IsAccessError(row.error())) return std::unexpected(row.error());
      if (!row) break;
      if (!*row) return {};
      take(*rows);
    }
  }
  return {};
}

// Returns all readable rows with valid checksums, without changing the file. kExhausted,
// kPermission, kUnavailable: the file cannot be read at present, damaged or not.
Result<Salvaged> Salvage(const fs::path& file) {
  Salvaged salvaged;
  std::error_code error;
  const bool exists = fs::exists(file, error);
  if (error) return std::unexpected(SystemError("cannot read " + file.string(), error.value()));
  if (!exists) return salvaged;
  auto database = Database::Open(file);
  if (!database && sqlite::IsAccessError(database.error()))
    return std::unexpected(database.error());
  if (!database) return salvaged;
  // Closing must not write the log into the damaged file.
  sqlite3_db_config(database->get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // Lets SQLite open truncated files. Nothing is written.
  static_cast<void>(database->Execute("PRAGMA writable_schema=ON"));
  auto read = ScanRows(*database, kMetaColumns, "key", [&](const Statement& row) {
    if (auto note = ReadRow<MetaRow>(row)) salvaged.meta.emplace(note->key, note->value);
  });
  if (!read) return std::unexpected(read.error());
  std::set<std::int64_t> numbers;
  std::set<Identity> steps;
  read = ScanRows(*database, kStepColumns, "id", [&](const Statement& row) {
    auto step = ReadRow<StepEntry>(row);
    if (!step || numbers.contains(step->id) || !steps.insert(step->identity).second) return;
    numbers.insert(step->id);
    salvaged.steps.push_back(*std::move(step));
  });
  if (!read) return std::unexpected(read.error());
  std::map<std::int64_t, AttemptEntry> attempts;
  std::set<std::pair<Identity, std::uint32_t>> names;
  read = ScanRows(*database, kAttemptColumns, "identity", [&](const Statement& row) {
    const auto attempt = ReadRow<AttemptEntry>(row);
    if (!attempt || attempts.contains(attempt->sequence)) return;
    const auto& name = attempt->result.name;
    if (names.emplace(name.identity, name.attempt).second) {
      attempts.emplace(attempt->sequence, *attempt);
    }
  });
  if (!read) return std::unexpected(read.error());
  for (auto& [sequence, attempt] : attempts) salvaged.attempts.push_back(attempt);
  return salvaged;
}

struct RestoreResult {
  ImportResult imported;
  std::vector<AttemptName> from_record;
};

// Creates a journal at `fresh` from salvaged rows and the records.
Result<RestoreResult> Restore(const JobFolder& folder, const fs::path& fresh,
                              const Salvaged& salvaged) {
  RestoreResult restored;
  {
    ASSIGN_OR_RETURN(auto journal, Journal::Open(fresh));
    for (const auto& [key, value] : salvaged.meta) {
      // Lost attempts may precede the barrier, and are in the records.
      if (key == kBarrierKey || key == kImportedKey) continue;
      RETURN_IF_ERROR(journal.Set(key, value));
    }
    RETURN_IF_ERROR(journal.Commit());
  }
  // Reopen: discarded cycles, which Open() reads from `meta`, must not be imported again.
  ASSIGN_OR_RETURN(auto journal, Journal::Open(fresh));
  Status status = journal.RestoreSteps(salvaged.steps);
  // A salvaged attempt's step may be lost.
  if (status) status = AdoptRecordedSteps(folder, &journal);
  if (status) status = journal.RestoreAttempts(salvaged.attempts);
  if (!status) return std::unexpected(status.error());
  const std::int64_t before = journal.last_sequence();
  ASSIGN_OR_RETURN(auto imported, ImportRecords(folder, journal, Supervisors::kOrphans));
  ASSIGN_OR_RETURN(const auto all, journal.AttemptsAfter(0));
  restored.imported = std::move(imported);
  restored.imported.attempts = all.size();
  restored.imported.unknown += static_cast<std::uint64_t>(
      std::ranges::count(salvaged.attempts, Outcome::kUnknown, OutcomeOf));
  for (const auto& attempt : all) {
    if (attempt.sequence > before) restored.from_record.push_back(attempt.result.name);
  }
  RETURN_IF_ERROR(journal.Checkpoint());
  return restored;
}

}  // namespace

Status ImportRecord(const fs::path& path, Journal& journal, ImportResult& imported) {
  // Test the lock before reading: a holder that exits in between has written everything.
  ASSIGN_OR_RETURN(const auto held, IsHeld(path.string()));
  const auto record = ReadRecord(path.string());
  if (!record) {
    // Killed before the header was written: no step was started.
    std::error_code error;
    constexpr std::uintmax_t kHeaderSize = 24;
    if (fs::file_size(path, error) < kHeaderSize && !error) return {};
    if (held || record.error().code != Error::Code::kIncompatible) {
      return std::unexpected(record.error());
    }
    // A power failure may leave a file of zeros; keep it for inspection.
    fs::rename(path, path.string() + ".damaged", error);
    ++imported.unknown;
    return {};
  }
  std::optional<AttemptStarted> open;
  Status status;
  const Overloaded handle{[&](const AttemptStarted& started) {
                            status = AdoptIfNew(journal, started);
                            open = started;
                          },
                          [&](const CycleResult& cycle) {
                            const auto noted = journal.RecordCycle(cycle);
                            if (!noted) status = std::unexpected(noted.error());
                          },
                          [&](const AttemptResult& result) {
                            const auto noted = journal.RecordAttempt(
                                result, AttemptExtra{.peak = {}, .boot = record->boot});
                            if (!noted) status = std::unexpected(noted.error());
                            imported.attempts += noted.value_or(false) ? 1 : 0;
                            open.reset();
                          }};
  for (const auto& entry : record->entries) {
    std::visit(handle, entry);
    if (!status) return status;
  }
  if (!open) return {};
  if (!held) return RecordUnknownOutcome(journal, *open, record->boot, imported);
  imported.live.push_back({open->name, open->at, path});
  return {};
}

Result<ImportResult> ImportRecords(const JobFolder& folder, Journal& journal,
                                   Supervisors supervisors) {
  ImportResult imported;
  ASSIGN_OR_RETURN(const auto records, ListRecords(folder));
  ASSIGN_OR_RETURN(auto known, ReadImported(journal));
  std::vector<fs::path> ended;
  for (const auto& record : records) {
    if (supervisors == Supervisors::kOrphans) {
      RETURN_IF_ERROR(AwaitIdleSupervisor(record));
    }
    const auto found = known.find(record.filename().string());
    const auto size = SizeOf(record);
    if (found != known.end() && size && *found == *size) continue;
    // Before it is read: what is written later makes it larger.
    ASSIGN_OR_RETURN(const bool held, IsHeld(record.string()));
    RETURN_IF_ERROR(ImportRecord(record, journal, imported));
    if (!held) ended.push_back(record);
  }
  RETURN_IF_ERROR(NoteImported(journal, ended));
  RETURN_IF_ERROR(journal.Commit());
  return imported;
}

Status NoteImported(Journal& journal, std::span<const fs::path> records) {
  ASSIGN_OR_RETURN(auto known, ReadImported(journal));
  bool changed = false;
  for (const auto& record : records) {
    const auto size = SizeOf(record);
    if (!size) continue;
    auto& noted = known[record.filename().string()];
    changed = changed || noted != *size;
    noted = *size;
  }
  return changed ? journal.Set(kImportedKey, known.dump()) : Status{};
}

Result<RebuildResult> RebuildJournal(const JobFolder& folder) {
  RETURN_IF_ERROR(AdoptRecordedSteps(folder, nullptr));
  ASSIGN_OR_RETURN(const auto salvaged, Salvage(folder.journal()));
  const fs::path fresh = folder.journal().string() + ".new";
  std::error_code error;
  // Left by an interrupted rebuild.
  for (const char* part : kParts) {
    fs::remove(fresh.string() + part, error);
    if (error) return std::unexpected(CannotReplace(folder.journal(), error));
  }
  ASSIGN_OR_RETURN(auto restored, Restore(folder, fresh, salvaged));
  RETURN_IF_ERROR(InstallJournal(fresh, folder.journal()));
  ASSIGN_OR_RETURN(auto journal, Journal::Open(folder.journal()));
  return RebuildResult{std::move(journal), std::move(restored.imported),
                       std::move(restored.from_record)};
}

}  // namespace reveza::jobs
