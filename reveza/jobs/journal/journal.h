// The journal of a job: its steps, attempts and cycles, stored in SQLite. docs/journal-format.md
// describes the file.
//
// Every row carries a checksum. Open() rejects files that are not journals, have another version or
// are damaged (kIncompatible); RebuildJournal() recovers them. Writes are batched in a transaction
// until Commit(). Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/sqlite/sqlite.h"
#include "reveza/jobs/supervisor/attempt.h"
#include "reveza/jobs/supervisor/record.h"

namespace reveza::jobs {

using sqlite::Database;
using sqlite::Statement;

enum class StepState : std::uint8_t {
  kWaiting = 0,  // not finished, and not failed permanently
  kDone = 1,
  kFailed = 2,     // permanently, as decided by a runner
  kUnknown = 3,    // outcome of the last attempt unknown
  kUndecided = 4,  // last attempt failed; retry not decided yet
};
const char* ToText(StepState state);

struct StepEntry {
  std::int64_t id = 0;  // from 1; never reused
  Identity identity{};
  StepState state = StepState::kWaiting;
  std::uint32_t attempts = 0;  // number of the last attempt
  std::string label;
  std::string files;  // output path without extension, "000/57" for 000/57.out and .err
};
auto Fields(MaybeConst<StepEntry> auto& step) {
  return std::tie(step.id, step.identity, step.state, step.attempts, step.label, step.files);
}

// Runner-side data of an attempt, in addition to the supervisor's result.
struct AttemptExtra {
  std::optional<Bytes> peak;  // highest sampled memory of all its processes together
  std::uint64_t output_hash = 0;
  BootId boot{};
};

struct AttemptEntry {
  AttemptResult result;
  AttemptExtra extra;
  std::int64_t sequence = 0;  // order of recording
};
auto Fields(MaybeConst<AttemptEntry> auto& attempt) {
  return std::tie(attempt.result, attempt.extra.peak, attempt.extra.output_hash, attempt.extra.boot,
                  attempt.sequence);
}

struct ListedStep {
  Identity identity{};
  std::string label;
};

// Returns where a new step has its outputs: "000/57".
std::string FilesOfId(std::int64_t id);

// Key of the output folder of the last run.
inline constexpr const char* kOutputsKey = "outputs";

class Journal {
 public:
  // What a commit survives.
  enum class Durability {
    kProcess,  // a crash of the runner
    kPower,    // a power failure too: one fsync per commit
  };

  // Opens a journal, creating it if necessary.
  static Result<Journal> Open(const std::filesystem::path& file,
                              Durability durability = Durability::kProcess);

  // Replaces the job's step list, all of it or nothing. Known steps keep their state; steps no
  // longer in the list are kept unlisted. `step` returns each of the `count` steps in turn.
  // Returns whether the journal had no steps before: then they have the ids from 1 on.
  Result<bool> SetList(std::size_t count, const std::function<ListedStep(std::size_t)>& step);
  Result<bool> SetList(const std::vector<ListedStep>& steps);
  // Returns the listed steps, in order. kIncompatible: a checksum does not match.
  Result<std::vector<StepEntry>> List();
  // Visits the listed steps, in order, up to the first error.
  Status ForEachListed(const std::function<void(const StepEntry&)>& visit);
  // Finds a step, listed or not.
  Result<std::optional<StepEntry>> Find(const Identity& identity);

  // Records the end of an attempt; false if it was recorded before. A success is never overridden
  // by other attempts.
  Result<bool> RecordAttempt(const AttemptResult& result, const AttemptExtra& extra);
  Result<bool> RecordCycle(const CycleResult& cycle);
  // Adds an unlisted step; for recovery.
  Status Adopt(const AttemptStarted& started);
  // Marks an undecided step as permanently failed.
  Status MarkFailed(const Identity& identity);
  // Returns the step to kWaiting; the next attempt begins at its first missing cycle.
  Status Requeue(const Identity& identity);
  // Resets the step as if it had never run: discards its cycles, including later imports of cycles
  // from previous attempts.
  Status ResetStep(const Identity& identity);
  // Appends steps that are not listed yet; known ones keep their state. Returns how many.
  Result<std::uint64_t> Append(const std::vector<ListedStep>& steps);

  // Changes the output path of a step; for outputs that lie in another folder.
  Status SetFiles(const Identity& identity, std::string files);
  // Writes a copy of the committed journal to a file that does not exist.
  Status CopyTo(const std::filesystem::path& file);

  Result<std::vector<AttemptEntry>> Attempts(const Identity& identity);
  // Returns all attempts recorded after `sequence`, in order.
  Result<std::vector<AttemptEntry>> AttemptsAfter(std::int64_t sequence);
  // Returns the cycles of a step, by number.
  Result<std::vector<CycleResult>> Cycles(const Identity& identity);
  struct CycleCount {
    std::uint64_t recorded = 0;
    std::uint64_t last = 0;  // the highest number; 0: none
  };
  Result<CycleCount> CountCycles(const Identity& identity);
  // Returns the first missing cycle of 1..count; count + 1 if there is none.
  Result<std::uint64_t> FirstMissingCycle(const Identity& identity, std::uint64_t count);

  // Restore rows of another journal of this job into an empty one: first the steps, unlisted, then
  // the attempts of known steps with their sequences. Step states follow from the attempts.
  Status RestoreSteps(const std::vector<StepEntry>& steps);
  Status RestoreAttempts(const std::vector<AttemptEntry>& attempts);

  // Sequence of the last recorded attempt; 0 if none.
  std::int64_t last_sequence() const { return next_sequence_ - 1; }

  // Store and load arbitrary values by key.
  Status Set(std::string_view key, std::string_view value);
  Result<std::optional<std::string>> Get(std::string_view key);

  // Returns whether there are uncommitted writes.
  bool dirty() const { return in_transaction_; }
  Status Commit();
  // Commits, and checkpoints the write-ahead log.
  Status Checkpoint();

 private:
  struct Statements {
    Statement insert_step, update_step, list, find, insert_attempt, attempts, attempts_after;
    Statement insert_cycle, cycles, count_cycles, delete_cycles, set, get;
  };

  explicit Journal(Database database) : database_(std::move(database)) {}

  Status Prepare();
  Status Begin();
  Status ReadDiscardedCycles();
  // Inserts a new step; `position` in the list, or unlisted.
  Status Insert(const StepEntry& step, std::optional<std::int64_t> position);
  Status InsertInto(Statement& statement, const StepEntry& step,
                    std::optional<std::int64_t> position);
  Status FillList(std::size_t count, const std::function<ListedStep(std::size_t)>& step);
  Result<bool> Insert(const AttemptEntry& entry);
  Status Write(const StepEntry& step);
  Status SetState(const Identity& identity, StepState state);

  Database database_;
  Statements statements_;
  bool in_transaction_ = false;
  std::int64_t next_sequence_ = 1;
  std::map<Identity, std::uint32_t> discarded_cycles_;  // last attempt whose cycles were discarded
};

}  // namespace reveza::jobs
