#include "runner/journal/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "runner/definition/identity.h"
#include "runner/journal/journal_format.h"
#include "runner/journal/journal_rows.h"

namespace reveza::runner {
namespace {

StepState After(const AttemptResult& result, StepState before) {
  if (before == StepState::kDone) return before;
  switch (result.outcome) {
    case Outcome::kSuccess:
      return StepState::kDone;
    case Outcome::kUnknown:
      return StepState::kUnknown;
    case Outcome::kCancelled:
    case Outcome::kPartial:
      return StepState::kWaiting;
    default:
      return StepState::kUndecided;
  }
}

std::string FilesOf(std::int64_t id) { return fmt::format("{:03}/{}", id / 1000, id); }

}  // namespace

const char* ToText(StepState state) {
  switch (state) {
    case StepState::kWaiting:
      return "waiting";
    case StepState::kDone:
      return "done";
    case StepState::kFailed:
      return "failed";
    case StepState::kUnknown:
      return "unknown";
    case StepState::kUndecided:
      return "failed";
  }
  return "unknown";
}

Result<Journal> Journal::Open(const std::filesystem::path& file, Durability durability) {
  auto database = Database::Open(file.string());
  if (!database) {
    return Fail(database.error().code,
                fmt::format("cannot open {}: {}", file.string(), database.error().message));
  }
  if (auto prepared = PrepareFormat(*database, file); !prepared) {
    return std::unexpected(prepared.error());
  }
  const char* synchronous = durability == Durability::kPower ? "FULL" : "NORMAL";
  auto set = database->Execute(fmt::format(
      "PRAGMA journal_mode=WAL;PRAGMA synchronous={};PRAGMA cache_size=-16000", synchronous));
  if (!set) return std::unexpected(set.error());
  Journal journal(std::move(*database));
  if (auto prepared = journal.Prepare(); !prepared) return std::unexpected(prepared.error());
  return journal;
}

Status Journal::Prepare() {
  const auto prepare = [this](Statement& statement, const std::string& sql) -> Status {
    auto prepared = database_.Prepare(sql);
    // A table is not what it was made as.
    if (!prepared && !IsOfTheReader(prepared.error())) {
      return Fail(Error::Code::kIncompatible, prepared.error().message);
    }
    if (!prepared) return std::unexpected(prepared.error());
    statement = std::move(*prepared);
    return {};
  };
  auto& s = statements_;
  const std::pair<Statement*, std::string> all[] = {
      {&s.insert_step,
       "INSERT INTO step VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (identity) DO UPDATE "
       "SET position = excluded.position"},
      {&s.update_step, "UPDATE step SET state = ?, attempts = ?, sum = ? WHERE identity = ?"},
      {&s.list, std::string(kStepColumns) + "WHERE position IS NOT NULL ORDER BY position"},
      {&s.find, std::string(kStepColumns) + "WHERE identity = ?"},
      {&s.insert_attempt,
       "INSERT OR IGNORE INTO attempt VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&s.attempts, std::string(kAttemptColumns) + "WHERE identity = ? ORDER BY attempt"},
      {&s.attempts_after, std::string(kAttemptColumns) + "WHERE sequence > ? ORDER BY sequence"},
      {&s.insert_cycle, "INSERT OR IGNORE INTO cycle VALUES (?,?,?,?,?,?)"},
      {&s.cycles, std::string(kCycleColumns) + "WHERE identity = ? ORDER BY number"},
      {&s.delete_cycles, "DELETE FROM cycle WHERE identity = ?"},
      {&s.set, "INSERT OR REPLACE INTO meta VALUES (?,?,?)"},
      {&s.get, std::string(kNoteColumns) + "WHERE key = ?"}};
  for (const auto& [statement, sql] : all) {
    if (auto prepared = prepare(*statement, sql); !prepared) return prepared;
  }
  if (auto checked = CheckRows(database_); !checked) return checked;
  const auto last = database_.Number("SELECT coalesce(max(sequence), 0) FROM attempt");
  if (!last) return std::unexpected(last.error());
  next_sequence_ = *last + 1;
  return ReadAnew();
}

Status Journal::ReadAnew() {
  auto rows = database_.Prepare("SELECT substr(key, 6), value FROM meta WHERE key GLOB 'anew/*'");
  if (!rows) return std::unexpected(rows.error());
  for (;;) {
    const auto row = rows->Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    const auto identity = ParseIdentity(rows->Text(0));
    const std::string_view number = rows->Blob(1);
    std::uint32_t attempts = 0;
    std::from_chars(number.data(), number.data() + number.size(), attempts);
    if (identity) anew_[*identity] = attempts;
  }
}

Status Journal::Begin() {
  if (in_transaction_ && !database_.InTransaction()) return Commit();
  if (in_transaction_) return {};
  auto begun = database_.Execute("BEGIN IMMEDIATE");
  in_transaction_ = begun.has_value();
  return begun;
}

Status Journal::Commit() {
  if (!in_transaction_) return {};
  // A full disk may have undone the transaction when something was noted.
  if (!database_.InTransaction()) {
    in_transaction_ = false;
    return Fail(Error::Code::kExhausted, "what was noted was undone, for lack of room");
  }
  auto committed = database_.Execute("COMMIT");
  in_transaction_ = !committed.has_value();
  return committed;
}

Status Journal::Checkpoint() {
  if (auto committed = Commit(); !committed) return committed;
  return database_.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

Status Journal::SetList(const std::vector<ListedStep>& steps) {
  if (auto begun = Begin(); !begun) return begun;
  if (auto cleared = database_.Execute("UPDATE step SET position = NULL"); !cleared) return cleared;
  auto last = database_.Number("SELECT coalesce(max(id), 0) FROM step");
  if (!last) return std::unexpected(last.error());
  std::int64_t id = *last;
  std::int64_t position = 0;
  for (const auto& listed : steps) {
    // The number of one that is known already is not used, and not used later either.
    if (auto inserted = Insert(listed, ++id, position++); !inserted) return inserted;
  }
  return Commit();
}

Status Journal::Insert(const ListedStep& listed, std::int64_t id, std::int64_t position) {
  StepEntry step;
  step.id = id;
  step.identity = listed.identity;
  step.label = listed.label;
  step.files = FilesOf(step.id);
  auto& insert = statements_.insert_step;
  insert.Bind(1, step.id).BindBlob(2, AsText(step.identity)).Bind(3, position);
  insert.Bind(4, std::int64_t{0}).Bind(5, std::int64_t{0});
  insert.Bind(6, std::string_view(step.label)).Bind(7, std::string_view(step.files));
  insert.Bind(8, SumOf(step));
  return insert.Run();
}

Result<std::uint64_t> Journal::Append(const std::vector<ListedStep>& steps) {
  if (auto begun = Begin(); !begun) return std::unexpected(begun.error());
  const auto last = database_.Number("SELECT coalesce(max(id), 0) FROM step");
  const auto end = database_.Number("SELECT coalesce(max(position), -1) FROM step");
  auto listed = database_.Prepare("SELECT position IS NOT NULL FROM step WHERE identity = ?");
  if (!last || !end) return std::unexpected((last ? end : last).error());
  if (!listed) return std::unexpected(listed.error());
  std::uint64_t came = 0;
  for (const auto& step : steps) {
    listed->BindBlob(1, AsText(step.identity));
    const auto row = listed->Step();
    if (!row) return std::unexpected(row.error());
    const bool there = *row && listed->Integer(0) != 0;
    listed->Reset();
    if (there) continue;
    const auto number = static_cast<std::int64_t>(++came);
    if (auto inserted = Insert(step, *last + number, *end + number); !inserted) {
      return std::unexpected(inserted.error());
    }
  }
  return came;
}

Result<std::vector<StepEntry>> Journal::List() {
  std::vector<StepEntry> steps;
  for (;;) {
    const auto row = statements_.list.Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return steps;
    auto step = ReadStep(statements_.list);
    if (!step) {
      statements_.list.Reset();
      return std::unexpected(step.error());
    }
    steps.push_back(std::move(*step));
  }
}

Result<std::optional<StepEntry>> Journal::Find(const Identity& identity) {
  auto& find = statements_.find;
  find.BindBlob(1, AsText(identity));
  const auto row = find.Step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::nullopt;
  auto step = ReadStep(find);
  find.Reset();
  if (!step) return std::unexpected(step.error());
  return std::optional<StepEntry>(std::move(*step));
}

Status Journal::Write(const StepEntry& step) {
  auto& update = statements_.update_step;
  update.Bind(1, static_cast<std::int64_t>(step.state)).Bind(2, std::int64_t{step.attempts});
  update.Bind(3, SumOf(step)).BindBlob(4, AsText(step.identity));
  return update.Run();
}

Result<bool> Journal::Note(const AttemptResult& result, const AttemptExtra& extra) {
  return Insert(AttemptEntry{result, extra, next_sequence_});
}

Result<bool> Journal::Insert(const AttemptEntry& entry) {
  const auto& [result, extra, sequence] = entry;
  if (auto begun = Begin(); !begun) return std::unexpected(begun.error());
  auto step = Find(result.name.identity);
  if (!step) return std::unexpected(step.error());
  if (!*step) return Fail(Error::Code::kNotFound, "the journal has no such step");
  auto& insert = statements_.insert_attempt;
  insert.BindBlob(1, AsText(result.name.identity)).Bind(2, std::int64_t{result.name.attempt});
  insert.Bind(3, static_cast<std::int64_t>(result.outcome)).Bind(4, std::int64_t{result.code});
  insert.Bind(5, std::int64_t{result.pid}).Bind(6, result.began).Bind(7, result.ended);
  insert.Bind(8, result.paused).Bind(9, result.user_time).Bind(10, result.system_time);
  insert.Bind(11, static_cast<std::int64_t>(result.largest_resident));
  insert.Bind(12, static_cast<std::int64_t>(result.output_bytes));
  insert.Bind(13, static_cast<std::int64_t>(result.error_bytes));
  if (extra.peak) {
    insert.Bind(14, static_cast<std::int64_t>(*extra.peak));
  } else {
    insert.BindNull(14);
  }
  insert.Bind(15, static_cast<std::int64_t>(extra.output_hash)).BindBlob(16, AsText(extra.boot));
  insert.Bind(17, sequence).Bind(18, SumOf(entry));
  if (auto inserted = insert.Run(); !inserted) return std::unexpected(inserted.error());
  if (database_.Changes() == 0) return false;
  next_sequence_ = std::max(next_sequence_, sequence + 1);
  // Records are read in the order of their names, which a clock that was set turns round.
  if (result.name.attempt >= (*step)->attempts || result.outcome == Outcome::kSuccess) {
    (*step)->state = After(result, (*step)->state);
  }
  (*step)->attempts = std::max((*step)->attempts, result.name.attempt);
  if (auto written = Write(**step); !written) return std::unexpected(written.error());
  return true;
}

Result<bool> Journal::Note(const CycleResult& cycle) {
  const auto anew = anew_.find(cycle.name.identity);
  if (anew != anew_.end() && cycle.name.attempt <= anew->second) return false;
  if (auto begun = Begin(); !begun) return std::unexpected(begun.error());
  auto& insert = statements_.insert_cycle;
  insert.BindBlob(1, AsText(cycle.name.identity)).Bind(2, static_cast<std::int64_t>(cycle.number));
  insert.Bind(3, std::int64_t{cycle.name.attempt}).Bind(4, cycle.at);
  insert.Bind(5, std::string_view(cycle.metrics)).Bind(6, SumOf(cycle));
  if (auto inserted = insert.Run(); !inserted) return std::unexpected(inserted.error());
  return database_.Changes() != 0;
}

Status Journal::SetState(const Identity& identity, StepState state) {
  if (auto begun = Begin(); !begun) return begun;
  auto step = Find(identity);
  if (!step) return std::unexpected(step.error());
  if (!*step) return Fail(Error::Code::kNotFound, "the journal has no such step");
  (*step)->state = state;
  return Write(**step);
}

Status Journal::Forget(const Identity& identity) { return SetState(identity, StepState::kWaiting); }

Status Journal::BeginAnew(const Identity& identity) {
  const auto step = Find(identity);
  if (!step) return std::unexpected(step.error());
  if (!*step) return Fail(Error::Code::kNotFound, "the journal has no such step");
  if (auto forgotten = Forget(identity); !forgotten) return forgotten;
  statements_.delete_cycles.BindBlob(1, AsText(identity));
  if (auto deleted = statements_.delete_cycles.Run(); !deleted) return deleted;
  if (database_.Changes() == 0) return {};
  // The supervisors' records still have them.
  anew_[identity] = (*step)->attempts;
  return Set("anew/" + IdentityText(identity), std::to_string((*step)->attempts));
}

Status Journal::GiveUp(const Identity& identity) { return SetState(identity, StepState::kFailed); }

Result<std::vector<AttemptEntry>> Journal::ReadAttempts(Statement& rows) {
  std::vector<AttemptEntry> attempts;
  for (;;) {
    const auto row = rows.Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return attempts;
    auto entry = ReadAttempt(rows);
    if (!entry) {
      rows.Reset();
      return std::unexpected(entry.error());
    }
    attempts.push_back(*entry);
  }
}

Result<std::vector<AttemptEntry>> Journal::Attempts(const Identity& identity) {
  statements_.attempts.BindBlob(1, AsText(identity));
  return ReadAttempts(statements_.attempts);
}

Result<std::vector<AttemptEntry>> Journal::AttemptsAfter(std::int64_t sequence) {
  statements_.attempts_after.Bind(1, sequence);
  return ReadAttempts(statements_.attempts_after);
}

Result<std::vector<CycleResult>> Journal::CyclesOf(const Identity& identity) {
  auto& rows = statements_.cycles;
  rows.BindBlob(1, AsText(identity));
  std::vector<CycleResult> cycles;
  for (;;) {
    const auto row = rows.Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return cycles;
    auto cycle = ReadCycle(rows);
    if (!cycle) {
      rows.Reset();
      return std::unexpected(cycle.error());
    }
    cycles.push_back(*std::move(cycle));
  }
}

Result<std::uint64_t> Journal::FirstMissingCycle(const Identity& identity, std::uint64_t count) {
  const auto cycles = CyclesOf(identity);
  if (!cycles) return std::unexpected(cycles.error());
  std::uint64_t next = 1;
  for (const auto& cycle : *cycles) {
    if (cycle.number > next) break;
    if (cycle.number == next) ++next;
  }
  return std::min(next, count + 1);
}

Status Journal::Set(std::string_view key, std::string_view value) {
  if (auto begun = Begin(); !begun) return begun;
  statements_.set.Bind(1, key).BindBlob(2, value).Bind(3, SumOfNote(key, value));
  return statements_.set.Run();
}

Result<std::optional<std::string>> Journal::Get(std::string_view key) {
  auto& get = statements_.get;
  get.Bind(1, key);
  const auto row = get.Step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::nullopt;
  auto note = ReadNote(get);
  get.Reset();
  if (!note) return std::unexpected(note.error());
  return std::optional<std::string>(std::move(note->value));
}

}  // namespace reveza::runner
