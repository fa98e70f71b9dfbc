#include "reveza/jobs/journal/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/parse_number.h"
#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/journal/journal_format.h"

namespace reveza::jobs {
namespace {

constexpr const char* kCacheSize = "PRAGMA cache_size=-16000";
constexpr const char* kLargeCacheSize = "PRAGMA cache_size=-64000";
constexpr const char* kSmallCacheSize = "PRAGMA cache_size=-4000";

StepState NextState(const AttemptResult& result, StepState state) {
  if (state == StepState::kDone) return state;
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

StepEntry NewStep(std::int64_t id, const ListedStep& listed) {
  StepEntry step;
  step.id = id;
  step.identity = listed.identity;
  step.label = listed.label;
  step.files = FilesOfId(id);
  return step;
}

}  // namespace

std::string FilesOfId(std::int64_t id) { return fmt::format("{:03}/{}", id / 1000, id); }

const char* ToText(StepState state) {
  constexpr std::array kTexts = {"waiting", "done", "failed", "unknown", "failed"};
  const auto index = static_cast<std::size_t>(state);
  return index < kTexts.size() ? kTexts[index] : "unknown";
}

Result<Journal> Journal::Open(const std::filesystem::path& file, Durability durability) {
  auto database = Database::Open(file.string());
  if (!database) {
    return Fail(database.error().code, "cannot open {}: {}", file.string(),
                database.error().message);
  }
  RETURN_IF_ERROR(PrepareFormat(*database, file));
  const char* synchronous = durability == Durability::kPower ? "FULL" : "NORMAL";
  RETURN_IF_ERROR(database->Execute(
      fmt::format("PRAGMA journal_mode=WAL;PRAGMA synchronous={};{}", synchronous, kCacheSize)));
  Journal journal(std::move(*database));
  RETURN_IF_ERROR(journal.Prepare());
  return journal;
}

Status Journal::Prepare() {
  const auto prepare = [this](Statement& statement, const std::string& sql) -> Status {
    auto prepared = database_.Prepare(sql);
    // Not an I/O error: the schema is damaged.
    if (!prepared && !sqlite::IsAccessError(prepared.error())) {
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
      {&s.update_step, "UPDATE step SET state = ?, attempts = ?, files = ?, sum = ? WHERE id = ?"},
      {&s.list, std::string(kStepColumns) + "WHERE position IS NOT NULL ORDER BY position"},
      {&s.find, std::string(kStepColumns) + "WHERE identity = ?"},
      {&s.insert_attempt,
       "INSERT OR IGNORE INTO attempt VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
      {&s.attempts, std::string(kAttemptColumns) + "WHERE identity = ? ORDER BY attempt"},
      {&s.attempts_after, std::string(kAttemptColumns) + "WHERE sequence > ? ORDER BY sequence"},
      {&s.insert_cycle,
       "INSERT OR IGNORE INTO cycle (identity, attempt, number, at, metrics, sum) VALUES "
       "(?,?,?,?,?,?)"},
      {&s.cycles, std::string(kCycleColumns) + "WHERE identity = ? ORDER BY number"},
      {&s.count_cycles, "SELECT count(*), coalesce(max(number), 0) FROM cycle WHERE identity = ?"},
      {&s.delete_cycles, "DELETE FROM cycle WHERE identity = ?"},
      {&s.set, "INSERT OR REPLACE INTO meta VALUES (?,?,?)"},
      {&s.get, std::string(kMetaColumns) + "WHERE key = ?"}};
  for (const auto& [statement, sql] : all) {
    RETURN_IF_ERROR(prepare(*statement, sql));
  }
  RETURN_IF_ERROR(CheckRows(database_));
  ASSIGN_OR_RETURN(const auto last,
                   database_.Number("SELECT coalesce(max(sequence), 0) FROM attempt"));
  next_sequence_ = last + 1;
  return ReadDiscardedCycles();
}

Status Journal::ReadDiscardedCycles() {
  ASSIGN_OR_RETURN(
      auto rows,
      database_.Prepare("SELECT substr(key, 6), value FROM meta WHERE key GLOB 'anew/*'"));
  for (;;) {
    ASSIGN_OR_RETURN(const auto row, rows.Step());
    if (!row) return {};
    const auto identity = ParseIdentity(rows.Text(0));
    const auto attempts = ParseNumber<std::uint32_t>(rows.Blob(1));
    if (identity) discarded_cycles_[*identity] = attempts.value_or(0);
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
  // SQLite rolls the transaction back when a write fails on a full disk.
  if (!database_.InTransaction()) {
    in_transaction_ = false;
    return Fail(Error::Code::kExhausted, "the disk is full; uncommitted results were rolled back");
  }
  auto committed = database_.Execute("COMMIT");
  in_transaction_ = !committed.has_value();
  return committed;
}

Status Journal::Checkpoint() {
  RETURN_IF_ERROR(Commit());
  return database_.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

Result<bool> Journal::SetList(const std::vector<ListedStep>& steps) {
  return SetList(steps.size(), [&](std::size_t index) { return steps[index]; });
}

Result<bool> Journal::SetList(std::size_t count,
                              const std::function<ListedStep(std::size_t)>& step) {
  // Of its own, so that it can be rolled back.
  RETURN_IF_ERROR(Commit());
  RETURN_IF_ERROR(Begin());
  ASSIGN_OR_RETURN(const auto last, database_.Number("SELECT coalesce(max(id), 0) FROM step"));
  if (last == 0) {
    if (auto filled = FillList(count, step); !filled) {
      // The index is missing.
      if (database_.InTransaction()) static_cast<void>(database_.Execute("ROLLBACK"));
      in_transaction_ = false;
      return std::unexpected(filled.error());
    }
  } else {
    // The index is in the order of hashes, so what of it is not in memory is read and written over
    // and over: some 40 bytes for each step.
    RETURN_IF_ERROR(database_.Execute(kLargeCacheSize));
    RETURN_IF_ERROR(database_.Execute("UPDATE step SET position = NULL"));
    for (std::size_t i = 0; i < count; ++i) {
      // The id is skipped if the step is known; ids are never reused.
      const auto position = static_cast<std::int64_t>(i);
      RETURN_IF_ERROR(Insert(NewStep(last + 1 + position, step(i)), position));
    }
  }
  RETURN_IF_ERROR(Commit());
  RETURN_IF_ERROR(database_.Execute(kCacheSize));
  return last == 0;
}

// Fills an empty table. Its index is built when all rows are there: SQLite sorts the identities,
// which is faster than inserting them one by one at random places. It sorts a part at a time that
// fits the cache; small ones fit that of the processor too, and save memory.
Status Journal::FillList(std::size_t count, const std::function<ListedStep(std::size_t)>& step) {
  RETURN_IF_ERROR(database_.Execute(kSmallCacheSize));
  RETURN_IF_ERROR(DropIdentityIndex(database_));
  ASSIGN_OR_RETURN(auto insert, database_.Prepare("INSERT INTO step VALUES (?,?,?,?,?,?,?,?)"));
  for (std::size_t i = 0; i < count; ++i) {
    const auto position = static_cast<std::int64_t>(i);
    RETURN_IF_ERROR(InsertInto(insert, NewStep(1 + position, step(i)), position));
  }
  return CreateIdentityIndex(database_);
}

Status Journal::Insert(const StepEntry& step, std::optional<std::int64_t> position) {
  return InsertInto(statements_.insert_step, step, position);
}

Status Journal::InsertInto(Statement& statement, const StepEntry& step,
                           std::optional<std::int64_t> position) {
  return BindAll(statement, step.id, step.identity, position, step.state, step.attempts, step.label,
                 step.files, Checksum(step))
      .Run();
}

Result<std::uint64_t> Journal::Append(const std::vector<ListedStep>& steps) {
  RETURN_IF_ERROR(Begin());
  const auto last = database_.Number("SELECT coalesce(max(id), 0) FROM step");
  const auto end = database_.Number("SELECT coalesce(max(position), -1) FROM step");
  auto listed = database_.Prepare("SELECT position IS NOT NULL FROM step WHERE identity = ?");
  if (!last || !end) return std::unexpected((last ? end : last).error());
  if (!listed) return std::unexpected(listed.error());
  std::uint64_t added = 0;
  for (const auto& step : steps) {
    listed->BindBlob(1, AsStringView(step.identity));
    ASSIGN_OR_RETURN(const auto row, listed->Step());
    const bool is_listed = row && listed->Integer(0) != 0;
    listed->Reset();
    if (is_listed) continue;
    const auto number = static_cast<std::int64_t>(++added);
    RETURN_IF_ERROR(Insert(NewStep(*last + number, step), *end + number));
  }
  return added;
}

Result<std::vector<StepEntry>> Journal::List() { return ReadRows<StepEntry>(statements_.list); }

Status Journal::ForEachListed(const std::function<void(const StepEntry&)>& visit) {
  return ForEachRow<StepEntry>(statements_.list, visit);
}

Result<std::optional<StepEntry>> Journal::Find(const Identity& identity) {
  auto& find = statements_.find;
  find.BindBlob(1, AsStringView(identity));
  ASSIGN_OR_RETURN(const auto row, find.Step());
  if (!row) return std::nullopt;
  auto step = ReadRow<StepEntry>(find);
  find.Reset();
  if (!step) return std::unexpected(step.error());
  return std::optional<StepEntry>(std::move(*step));
}

Status Journal::Write(const StepEntry& step) {
  return BindAll(statements_.update_step, step.state, step.attempts, step.files, Checksum(step),
                 step.id)
      .Run();
}

Result<bool> Journal::RecordAttempt(const AttemptResult& result, const AttemptExtra& extra) {
  return Insert(AttemptEntry{result, extra, next_sequence_});
}

Result<bool> Journal::Insert(const AttemptEntry& entry) {
  const AttemptResult& result = entry.result;
  RETURN_IF_ERROR(Begin());
  ASSIGN_OR_RETURN(auto step, Find(result.name.identity));
  if (!step) return Fail(Error::Code::kNotFound, "no such step in the journal");
  RETURN_IF_ERROR(BindAll(statements_.insert_attempt, entry, Checksum(entry)).Run());
  if (database_.Changes() == 0) return false;
  next_sequence_ = std::max(next_sequence_, entry.sequence + 1);
  // Record names sort by wall-clock time, so a clock change may reorder attempts.
  if (result.name.attempt >= step->attempts || result.outcome == Outcome::kSuccess) {
    step->state = NextState(result, step->state);
  }
  step->attempts = std::max(step->attempts, result.name.attempt);
  RETURN_IF_ERROR(Write(*step));
  return true;
}

Result<bool> Journal::RecordCycle(const CycleResult& cycle) {
  const auto discarded = discarded_cycles_.find(cycle.name.identity);
  if (discarded != discarded_cycles_.end() && cycle.name.attempt <= discarded->second) return false;
  RETURN_IF_ERROR(Begin());
  RETURN_IF_ERROR(BindAll(statements_.insert_cycle, cycle, Checksum(cycle)).Run());
  return database_.Changes() != 0;
}

Status Journal::SetState(const Identity& identity, StepState state) {
  RETURN_IF_ERROR(Begin());
  ASSIGN_OR_RETURN(auto step, Find(identity));
  if (!step) return Fail(Error::Code::kNotFound, "no such step in the journal");
  step->state = state;
  return Write(*step);
}

Status Journal::SetFiles(const Identity& identity, std::string files) {
  RETURN_IF_ERROR(Begin());
  ASSIGN_OR_RETURN(auto step, Find(identity));
  if (!step) return Fail(Error::Code::kNotFound, "no such step in the journal");
  step->files = std::move(files);
  return Write(*step);
}

Status Journal::CopyTo(const std::filesystem::path& file) {
  RETURN_IF_ERROR(Commit());
  ASSIGN_OR_RETURN(auto copy, database_.Prepare("VACUUM INTO ?"));
  return copy.Bind(1, file.string()).Run();
}

Status Journal::Requeue(const Identity& identity) {
  return SetState(identity, StepState::kWaiting);
}

Status Journal::ResetStep(const Identity& identity) {
  RETURN_IF_ERROR(Begin());
  ASSIGN_OR_RETURN(auto step, Find(identity));
  if (!step) return Fail(Error::Code::kNotFound, "no such step in the journal");
  step->state = StepState::kWaiting;
  RETURN_IF_ERROR(Write(*step));
  statements_.delete_cycles.BindBlob(1, AsStringView(identity));
  RETURN_IF_ERROR(statements_.delete_cycles.Run());
  if (database_.Changes() == 0) return {};
  // The supervisors' records still contain them.
  discarded_cycles_[identity] = step->attempts;
  return Set("anew/" + FormatIdentity(identity), std::to_string(step->attempts));
}

Status Journal::MarkFailed(const Identity& identity) {
  return SetState(identity, StepState::kFailed);
}

Result<std::vector<AttemptEntry>> Journal::Attempts(const Identity& identity) {
  return ReadRows<AttemptEntry>(BindAll(statements_.attempts, identity));
}

Result<std::vector<AttemptEntry>> Journal::AttemptsAfter(std::int64_t sequence) {
  return ReadRows<AttemptEntry>(BindAll(statements_.attempts_after, sequence));
}

Result<std::vector<CycleResult>> Journal::Cycles(const Identity& identity) {
  return ReadRows<CycleResult>(BindAll(statements_.cycles, identity));
}

Result<Journal::CycleCount> Journal::CountCycles(const Identity& identity) {
  auto& count = BindAll(statements_.count_cycles, identity);
  ASSIGN_OR_RETURN(const auto row, count.Step());
  CycleCount cycles;
  if (row) {
    cycles.recorded = static_cast<std::uint64_t>(count.Integer(0));
    cycles.last = static_cast<std::uint64_t>(count.Integer(1));
  }
  count.Reset();
  return cycles;
}

Result<std::uint64_t> Journal::FirstMissingCycle(const Identity& identity, std::uint64_t count) {
  ASSIGN_OR_RETURN(const auto cycles, Cycles(identity));
  std::uint64_t next = 1;
  for (const auto& cycle : cycles) {
    if (cycle.number > next) break;
    if (cycle.number == next) ++next;
  }
  return std::min(next, count + 1);
}

Status Journal::Set(std::string_view key, std::string_view value) {
  RETURN_IF_ERROR(Begin());
  const MetaRow row{std::string(key), std::string(value)};
  statements_.set.Bind(1, key).BindBlob(2, value).Bind(3, Checksum(row));
  return statements_.set.Run();
}

Result<std::optional<std::string>> Journal::Get(std::string_view key) {
  auto& get = statements_.get;
  get.Bind(1, key);
  ASSIGN_OR_RETURN(const auto row, get.Step());
  if (!row) return std::nullopt;
  auto note = ReadRow<MetaRow>(get);
  get.Reset();
  if (!note) return std::unexpected(note.error());
  return std::optional<std::string>(std::move(note->value));
}

Status Journal::Adopt(const AttemptStarted& started) {
  RETURN_IF_ERROR(Begin());
  ASSIGN_OR_RETURN(const auto last, database_.Number("SELECT coalesce(max(id), 0) FROM step"));
  StepEntry step;
  step.identity = started.name.identity;
  step.label = started.label;
  const std::filesystem::path output(started.output);
  step.files = (output.parent_path().filename() / output.stem()).string();
  // Keep the id in its output path, so that no other step gets the same outputs.
  step.id = ParseNumber<std::int64_t>(output.stem().native()).value_or(0);
  const auto in_use =
      database_.Number(fmt::format("SELECT count(*) FROM step WHERE id = {}", step.id));
  if (!in_use) return std::unexpected(in_use.error());
  if (step.id <= 0 || *in_use != 0) step.id = last + 1;
  return Insert(step, std::nullopt);
}

Status Journal::RestoreSteps(const std::vector<StepEntry>& steps) {
  RETURN_IF_ERROR(Begin());
  for (StepEntry step : steps) {
    step.state = StepState::kWaiting;
    step.attempts = 0;
    RETURN_IF_ERROR(Insert(step, std::nullopt));
  }
  return Commit();
}

Status Journal::RestoreAttempts(const std::vector<AttemptEntry>& attempts) {
  RETURN_IF_ERROR(Begin());
  for (const auto& attempt : attempts) {
    ASSIGN_OR_RETURN(const auto known, Find(attempt.result.name.identity));
    if (!known) continue;
    RETURN_IF_ERROR(Insert(attempt));
  }
  return Commit();
}

}  // namespace reveza::jobs
