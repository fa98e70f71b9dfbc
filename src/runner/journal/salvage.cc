#include "runner/journal/salvage.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdint>
#include <set>
#include <system_error>
#include <utility>

#include "base/system_error.h"
#include "runner/journal/journal_rows.h"
#include "runner/journal/sqlite.h"

namespace reveza::runner {
namespace {

// From both ends: what is behind a page that cannot be read is reached from the other side. Pages
// that lead in a circle would be read for ever, and no table has so many rows.
template <typename Take>
Status ReadRows(Database& database, const char* select, const char* key, Take take) {
  constexpr std::uint64_t kMost = 100'000'000;
  for (const char* order : {"ASC", "DESC"}) {
    auto rows = database.Prepare(fmt::format("{} ORDER BY {} {}", select, key, order));
    if (!rows && IsOfTheReader(rows.error())) return std::unexpected(rows.error());
    if (!rows) return {};
    for (std::uint64_t count = 0; count < kMost; ++count) {
      const auto row = rows->Step();
      if (!row && IsOfTheReader(row.error())) return std::unexpected(row.error());
      if (!row) break;
      if (!*row) return {};
      take(*rows);
    }
  }
  return {};
}

}  // namespace

Result<Salvaged> Salvage(const std::filesystem::path& file) {
  Salvaged salvaged;
  std::error_code error;
  const bool is_there = std::filesystem::exists(file, error);
  if (error) return std::unexpected(SystemError("cannot read " + file.string(), error.value()));
  if (!is_there) return salvaged;
  auto database = Database::Open(file);
  if (!database && IsOfTheReader(database.error())) return std::unexpected(database.error());
  if (!database) return salvaged;
  // Else the log would be written into it when it is closed.
  sqlite3_db_config(database->get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // Else SQLite opens no file that is shorter than it should be. Nothing is written.
  static_cast<void>(database->Execute("PRAGMA writable_schema=ON"));
  auto read = ReadRows(*database, kNoteColumns, "key", [&](const Statement& row) {
    if (auto note = ReadNote(row)) salvaged.notes.emplace(note->key, note->value);
  });
  if (!read) return std::unexpected(read.error());
  std::set<std::int64_t> numbers;
  std::set<Identity> steps;
  read = ReadRows(*database, kStepColumns, "id", [&](const Statement& row) {
    auto step = ReadStep(row);
    if (!step || numbers.contains(step->id) || !steps.insert(step->identity).second) return;
    numbers.insert(step->id);
    salvaged.steps.push_back(*std::move(step));
  });
  if (!read) return std::unexpected(read.error());
  std::map<std::int64_t, AttemptEntry> attempts;
  std::set<std::pair<Identity, std::uint32_t>> names;
  read = ReadRows(*database, kAttemptColumns, "identity", [&](const Statement& row) {
    const auto attempt = ReadAttempt(row);
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

}  // namespace reveza::runner
