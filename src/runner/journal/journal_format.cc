#include "runner/journal/journal_format.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runner/supervisor/attempt_packing.h"

namespace reveza::runner {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE meta (
  key TEXT PRIMARY KEY, value BLOB NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE step (
  id INTEGER PRIMARY KEY, identity BLOB NOT NULL UNIQUE, position INTEGER, state INTEGER NOT NULL,
  attempts INTEGER NOT NULL, label TEXT NOT NULL, files TEXT NOT NULL, sum INTEGER NOT NULL);
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

std::int64_t Sum(const Packer& packer) {
  return static_cast<std::int64_t>(XXH3_64bits(packer.bytes().data(), packer.bytes().size()));
}

std::unexpected<Error> Refuse(const std::filesystem::path& file, std::string_view why) {
  return Fail(Error::Code::kIncompatible, fmt::format("{}: {}", file.string(), why));
}

std::unexpected<Error> Refuse(const std::filesystem::path& file, const Error& error) {
  if (!IsOfTheReader(error)) return Refuse(file, error.message);
  return Fail(error.code, fmt::format("cannot read {}: {}", file.string(), error.message));
}

Status Create(Database& database) {
  return database.Execute(
      fmt::format("BEGIN IMMEDIATE;{}PRAGMA application_id={};"
                  "PRAGMA user_version={};COMMIT",
                  kTables, kJournalApplication, kJournalVersion));
}

}  // namespace

Status PrepareFormat(Database& database, const std::filesystem::path& file) {
  const auto tables = database.Number("SELECT count(*) FROM sqlite_master");
  if (!tables) return Refuse(file, tables.error());
  const auto application = database.Number("PRAGMA application_id");
  if (!application) return Refuse(file, application.error());
  const auto version = database.Number("PRAGMA user_version");
  if (!version) return Refuse(file, version.error());
  if (*tables == 0 && *application == 0) return Create(database);
  if (*application != kJournalApplication) {
    return Refuse(file, "it is a database, and no journal of jobs");
  }
  if (*version != kJournalVersion) {
    return Refuse(file, fmt::format("it is a journal of version {}, this program knows {}",
                                    *version, kJournalVersion));
  }
  // The quick one does not look whether what is in a table is in its indexes.
  const auto check = database.Text("PRAGMA integrity_check(1)");
  if (!check) return Refuse(file, check.error());
  if (*check != "ok") return Refuse(file, *check);
  return {};
}

std::int64_t SumOfNote(std::string_view key, std::string_view value) {
  Packer packer;
  packer.Add(key).Add(value);
  return Sum(packer);
}

std::int64_t SumOf(const StepEntry& step) {
  Packer packer;
  packer.Add(step.id).Add(step.identity).Add(step.state).Add(step.attempts);
  packer.Add(std::string_view(step.label)).Add(std::string_view(step.files));
  return Sum(packer);
}

std::int64_t SumOf(const AttemptEntry& attempt) {
  Packer packer;
  Pack(packer, attempt.result);
  packer.Add(attempt.extra.peak.has_value()).Add(attempt.extra.peak.value_or(0));
  packer.Add(attempt.extra.output_hash).Add(attempt.extra.boot).Add(attempt.sequence);
  return Sum(packer);
}

std::int64_t SumOf(const CycleResult& cycle) {
  Packer packer;
  Pack(packer, cycle);
  return Sum(packer);
}

}  // namespace reveza::runner
