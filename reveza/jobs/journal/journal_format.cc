#include "reveza/jobs/journal/journal_format.h"

#define XXH_INLINE_ALL

#include <xxhash.h>

#include "reveza/jobs/supervisor/packing.h"

namespace reveza::jobs {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE meta (
  key TEXT PRIMARY KEY, value BLOB NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE step (
  id INTEGER PRIMARY KEY, identity BLOB NOT NULL, position INTEGER, state INTEGER NOT NULL,
  attempts INTEGER NOT NULL, label TEXT NOT NULL, files TEXT NOT NULL, sum INTEGER NOT NULL);
CREATE UNIQUE INDEX step_identity ON step (identity);
CREATE TABLE attempt (
  identity BLOB NOT NULL, attempt INTEGER NOT NULL, outcome INTEGER NOT NULL, code INTEGER NOT NULL,
  pid INTEGER NOT NULL, began INTEGER NOT NULL, ended INTEGER NOT NULL, paused INTEGER NOT NULL,
  user_time INTEGER NOT NULL, system_time INTEGER NOT NULL, largest_resident INTEGER NOT NULL,
  output_bytes INTEGER NOT NULL, error_bytes INTEGER NOT NULL, peak INTEGER,
  output_hash INTEGER NOT NULL, boot BLOB NOT NULL, sequence INTEGER NOT NULL UNIQUE,
  sum INTEGER NOT NULL, PRIMARY KEY (identity, attempt)) WITHOUT ROWID;
CREATE TABLE cycle (
  identity BLOB NOT NULL, number INTEGER NOT NULL, attempt INTEGER NOT NULL, at INTEGER NOT NULL,
  metrics TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (identity, number)) WITHOUT ROWID;
)";

std::unexpected<Error> Incompatible(const std::filesystem::path& file, std::string_view why) {
  return Fail(Error::Code::kIncompatible, "{}: {}", file.string(), why);
}

std::unexpected<Error> Incompatible(const std::filesystem::path& file, const Error& error) {
  if (!sqlite::IsAccessError(error)) return Incompatible(file, error.message);
  return Fail(error.code, "cannot read {}: {}", file.string(), error.message);
}

Status Create(Database& database) {
  return database.Execute(
      fmt::format("BEGIN IMMEDIATE;{}PRAGMA application_id={};"
                  "PRAGMA user_version={};COMMIT",
                  kTables, kJournalApplicationId, kJournalVersion));
}

template <typename Row>
Status CheckAll(Database& database, const char* select) {
  ASSIGN_OR_RETURN(auto rows, database.Prepare(select));
  return ForEachRow<Row>(rows, [](const Row&) {});
}

}  // namespace

Status CheckFormat(Database& database, const std::filesystem::path& file) {
  const auto application = database.Number("PRAGMA application_id");
  if (!application) return Incompatible(file, application.error());
  const auto version = database.Number("PRAGMA user_version");
  if (!version) return Incompatible(file, version.error());
  if (*application != kJournalApplicationId) {
    return Incompatible(file, "a SQLite database, but not a job journal");
  }
  if (*version != kJournalVersion) {
    return Incompatible(
        file, fmt::format("unsupported journal version {}; this program reads version {}", *version,
                          kJournalVersion));
  }
  return {};
}

Status PrepareFormat(Database& database, const std::filesystem::path& file) {
  const auto tables = database.Number("SELECT count(*) FROM sqlite_master");
  if (!tables) return Incompatible(file, tables.error());
  const auto application = database.Number("PRAGMA application_id");
  if (!application) return Incompatible(file, application.error());
  if (*tables == 0 && *application == 0) return Create(database);
  RETURN_IF_ERROR(CheckFormat(database, file));
  // quick_check would not compare tables with their indexes.
  const auto check = database.Text("PRAGMA integrity_check(1)");
  if (!check) return Incompatible(file, check.error());
  if (*check != "ok") return Incompatible(file, *check);
  return {};
}

Status DropIdentityIndex(Database& database) {
  return database.Execute("DROP INDEX IF EXISTS step_identity");
}

// Journals of earlier versions have one that their table declares.
Status CreateIdentityIndex(Database& database) {
  ASSIGN_OR_RETURN(const auto declared,
                   database.Number("SELECT count(*) FROM sqlite_master WHERE type = 'index' AND "
                                   "name = 'sqlite_autoindex_step_1'"));
  if (declared != 0) return {};
  return database.Execute("CREATE UNIQUE INDEX step_identity ON step (identity)");
}

std::int64_t ChecksumOf(std::string_view packed) {
  return static_cast<std::int64_t>(XXH3_64bits(packed.data(), packed.size()));
}

Status CheckRows(Database& database) {
  RETURN_IF_ERROR(CheckAll<MetaRow>(database, kMetaColumns));
  RETURN_IF_ERROR(CheckAll<StepEntry>(database, kStepColumns));
  RETURN_IF_ERROR(CheckAll<AttemptEntry>(database, kAttemptColumns));
  return CheckAll<CycleResult>(database, kCycleColumns);
}

}  // namespace reveza::jobs
