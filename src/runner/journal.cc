#include "runner/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runner/journal_format.h"

namespace reveza::runner {
namespace {

constexpr const char* kStepColumns =
    "SELECT id, identity, state, attempts, label, files, sum FROM step ";
constexpr const char* kAttemptColumns =
    "SELECT identity, attempt, outcome, code, pid, began, ended, paused, user_time, system_time, "
    "largest_resident, output_bytes, error_bytes, peak, output_hash, boot, sequence, sum "
    "FROM attempt ";

template <typename T>
T FromBlob(std::string_view blob) {
  T value{};
  std::memcpy(value.data(), blob.data(), std::min(blob.size(), value.size()));
  return value;
}

std::unexpected<Error> Damaged(std::string_view what) {
  return Fail(Error::Code::kIncompatible,
              fmt::format("a row of the journal ({}) is not what its checksum says", what));
}

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
      {&s.cycles,
       "SELECT number, attempt, at, metrics, sum FROM cycle WHERE identity = ? "
       "ORDER BY number"},
      {&s.set, "INSERT OR REPLACE INTO meta VALUES (?,?)"},
      {&s.get, "SELECT value FROM meta WHERE key = ?"}};
  for (const auto& [statement, sql] : all) {
    if (auto prepared = prepare(*statement, sql); !prepared) return prepared;
  }
  const auto last = database_.Number("SELECT coalesce(max(sequence), 0) FROM attempt");
  if (!last) return std::unexpected(last.error());
  next_sequence_ = *last + 1;
  return {};
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

Result<StepEntry> Journal::Read(const Statement& row) const {
  StepEntry step;
  step.id = row.Integer(0);
  step.identity = FromBlob<Identity>(row.Blob(1));
  step.state = static_cast<StepState>(row.Integer(2));
  step.attempts = static_cast<std::uint32_t>(row.Integer(3));
  step.label = row.Text(4);
  step.files = row.Text(5);
  if (SumOf(step) != row.Integer(6)) return Damaged(fmt::format("step {}", step.id));
  return step;
}

Status Journal::SetList(const std::vector<ListedStep>& steps) {
  if (auto begun = Begin(); !begun) return begun;
  if (auto cleared = database_.Execute("UPDATE step SET position = NULL"); !cleared) return cleared;
  auto last = database_.Number("SELECT coalesce(max(id), 0) FROM step");
  if (!last) return std::unexpected(last.error());
  std::int64_t id = *last;
  std::int64_t position = 0;
  for (const auto& listed : steps) {
    StepEntry step;
    // The number of one that is known already is not used, and not used later either.
    step.id = ++id;
    step.identity = listed.identity;
    step.label = listed.label;
    step.files = FilesOf(step.id);
    auto& insert = statements_.insert_step;
    insert.Bind(1, step.id).BindBlob(2, AsText(step.identity)).Bind(3, position++);
    insert.Bind(4, std::int64_t{0}).Bind(5, std::int64_t{0});
    insert.Bind(6, std::string_view(step.label)).Bind(7, std::string_view(step.files));
    insert.Bind(8, SumOf(step));
    if (auto inserted = insert.Run(); !inserted) return inserted;
  }
  return Commit();
}

Result<std::vector<StepEntry>> Journal::List() {
  std::vector<StepEntry> steps;
  for (;;) {
    const auto row = statements_.list.Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return steps;
    auto step = Read(statements_.list);
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
  auto step = Read(find);
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
  if (auto begun = Begin(); !begun) return std::unexpected(begun.error());
  auto step = Find(result.name.identity);
  if (!step) return std::unexpected(step.error());
  if (!*step) return Fail(Error::Code::kNotFound, "the journal has no such step");
  const AttemptEntry entry{result, extra, next_sequence_};
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
  insert.Bind(17, entry.sequence).Bind(18, SumOf(entry));
  if (auto inserted = insert.Run(); !inserted) return std::unexpected(inserted.error());
  if (database_.Changes() == 0) return false;
  ++next_sequence_;
  (*step)->state = After(result, (*step)->state);
  (*step)->attempts = std::max((*step)->attempts, result.name.attempt);
  if (auto written = Write(**step); !written) return std::unexpected(written.error());
  return true;
}

Result<bool> Journal::Note(const CycleResult& cycle) {
  if (auto begun = Begin(); !begun) return std::unexpected(begun.error());
  auto& insert = statements_.insert_cycle;
  insert.BindBlob(1, AsText(cycle.name.identity)).Bind(2, static_cast<std::int64_t>(cycle.number));
  insert.Bind(3, std::int64_t{cycle.name.attempt}).Bind(4, cycle.at);
  insert.Bind(5, std::string_view(cycle.metrics)).Bind(6, SumOf(cycle));
  if (auto inserted = insert.Run(); !inserted) return std::unexpected(inserted.error());
  return database_.Changes() != 0;
}

Status Journal::Adopt(const AttemptStarted& started) {
  if (auto begun = Begin(); !begun) return begun;
  const auto last = database_.Number("SELECT coalesce(max(id), 0) FROM step");
  if (!last) return std::unexpected(last.error());
  StepEntry step;
  step.id = *last + 1;
  step.identity = started.name.identity;
  step.label = started.label;
  const std::filesystem::path output(started.output);
  step.files = (output.parent_path().filename() / output.stem()).string();
  auto& insert = statements_.insert_step;
  insert.Bind(1, step.id).BindBlob(2, AsText(step.identity)).BindNull(3);
  insert.Bind(4, std::int64_t{0}).Bind(5, std::int64_t{0});
  insert.Bind(6, std::string_view(step.label)).Bind(7, std::string_view(step.files));
  insert.Bind(8, SumOf(step));
  return insert.Run();
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

Status Journal::GiveUp(const Identity& identity) { return SetState(identity, StepState::kFailed); }

Result<std::vector<AttemptEntry>> Journal::ReadAttempts(Statement& rows) {
  std::vector<AttemptEntry> attempts;
  for (;;) {
    const auto row = rows.Step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return attempts;
    AttemptEntry entry;
    auto& result = entry.result;
    result.name.identity = FromBlob<Identity>(rows.Blob(0));
    result.name.attempt = static_cast<std::uint32_t>(rows.Integer(1));
    result.outcome = static_cast<Outcome>(rows.Integer(2));
    result.code = static_cast<std::int32_t>(rows.Integer(3));
    result.pid = static_cast<std::int32_t>(rows.Integer(4));
    result.began = rows.Integer(5);
    result.ended = rows.Integer(6);
    result.paused = rows.Integer(7);
    result.user_time = rows.Integer(8);
    result.system_time = rows.Integer(9);
    result.largest_resident = static_cast<std::uint64_t>(rows.Integer(10));
    result.output_bytes = static_cast<std::uint64_t>(rows.Integer(11));
    result.error_bytes = static_cast<std::uint64_t>(rows.Integer(12));
    if (!rows.IsNull(13)) entry.extra.peak = static_cast<Bytes>(rows.Integer(13));
    entry.extra.output_hash = static_cast<std::uint64_t>(rows.Integer(14));
    entry.extra.boot = FromBlob<BootId>(rows.Blob(15));
    entry.sequence = rows.Integer(16);
    if (SumOf(entry) != rows.Integer(17)) {
      rows.Reset();
      return Damaged(fmt::format("attempt {}", entry.sequence));
    }
    attempts.push_back(entry);
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
    CycleResult cycle;
    cycle.name.identity = identity;
    cycle.number = static_cast<std::uint64_t>(rows.Integer(0));
    cycle.name.attempt = static_cast<std::uint32_t>(rows.Integer(1));
    cycle.at = rows.Integer(2);
    cycle.metrics = rows.Text(3);
    if (SumOf(cycle) != rows.Integer(4)) {
      rows.Reset();
      return Damaged(fmt::format("cycle {}", cycle.number));
    }
    cycles.push_back(std::move(cycle));
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
  statements_.set.Bind(1, key).BindBlob(2, value);
  return statements_.set.Run();
}

Result<std::optional<std::string>> Journal::Get(std::string_view key) {
  auto& get = statements_.get;
  get.Bind(1, key);
  const auto row = get.Step();
  if (!row) return std::unexpected(row.error());
  if (!*row) return std::nullopt;
  std::string value(get.Blob(0));
  get.Reset();
  return std::optional<std::string>(std::move(value));
}

}  // namespace reveza::runner
