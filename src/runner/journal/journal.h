// What is known of a job, kept in SQLite: which steps it has, every attempt and what came of it,
// every cycle. docs/journal-format.md describes the file.
//
// Each row that says what happened carries a checksum of itself. A file that is no journal, is one
// of another version or is damaged is refused when it is opened (kIncompatible), never believed;
// RebuildJournal makes a new one from the supervisors' records. Writes are gathered in a
// transaction until Commit. Thread-safety: none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "runner/journal/sqlite.h"
#include "runner/supervisor/attempt.h"
#include "runner/supervisor/record.h"

namespace reveza::runner {

enum class StepState : std::uint8_t {
  kWaiting = 0,  // no attempt has finished it, none failed for good
  kDone = 1,
  kFailed = 2,     // for good, as a runner has decided
  kUnknown = 3,    // its last attempt may have finished or not
  kUndecided = 4,  // its last attempt failed; no runner has said yet whether there is another
};
const char* ToText(StepState state);

struct StepEntry {
  std::int64_t id = 0;  // from 1; never given again
  Identity identity{};
  StepState state = StepState::kWaiting;
  std::uint32_t attempts = 0;  // the number of the last one
  std::string label;
  std::string files;  // "000/57": its outputs are there, with ".out" and ".err" behind it
};

// What the runner knows of an attempt beside what its supervisor wrote.
struct AttemptExtra {
  std::optional<Bytes> peak;  // largest sum over all its processes that was seen
  std::uint64_t output_hash = 0;
  BootId boot{};
};

struct AttemptEntry {
  AttemptResult result;
  AttemptExtra extra;
  std::int64_t sequence = 0;  // in the order in which they were noted
};

struct ListedStep {
  Identity identity{};
  std::string label;
};

// By these names something else is remembered: where the outputs of the last run are.
inline constexpr const char* kOutputs = "outputs";

class Journal {
 public:
  // How sure a commit is.
  enum class Durability {
    kProcess,  // outlives the runner
    kPower,    // and a power cut: one synchronisation a commit
  };

  // Creates the file when it is not there.
  static Result<Journal> Open(const std::filesystem::path& file,
                              Durability durability = Durability::kProcess);

  // Makes `steps`, in this order, the list of the job. Steps that are known keep what was done;
  // those that are in it no more are kept, unlisted.
  Status SetList(const std::vector<ListedStep>& steps);
  // The list, in its order. kIncompatible when a row is not what its checksum says.
  Result<std::vector<StepEntry>> List();
  // The listed and the unlisted step with this identity.
  Result<std::optional<StepEntry>> Find(const Identity& identity);

  // An attempt has an end. Noted once: false when it was known already. A success is never
  // replaced by what another attempt says.
  Result<bool> Note(const AttemptResult& result, const AttemptExtra& extra);
  Result<bool> Note(const CycleResult& cycle);
  // A step that no list has named yet; for rebuilding.
  Status Adopt(const AttemptStarted& started);
  // An undecided step has failed for good.
  Status GiveUp(const Identity& identity);
  // Back to waiting: it will be run again, from its first missing cycle.
  Status Forget(const Identity& identity);
  // As if it had never run: its cycles are made again, too, and those that the attempts up to now
  // have made are not noted any more.
  Status BeginAnew(const Identity& identity);
  // Of steps that are in the list: nothing. Those that are not come behind it, with what was done
  // of them. How many came.
  Result<std::uint64_t> Append(const std::vector<ListedStep>& steps);

  Result<std::vector<AttemptEntry>> Attempts(const Identity& identity);
  // All that were noted after `sequence`, in that order.
  Result<std::vector<AttemptEntry>> AttemptsAfter(std::int64_t sequence);
  // The cycles of a step in the order of their numbers.
  Result<std::vector<CycleResult>> CyclesOf(const Identity& identity);
  // The first of 1..count that is not there; count + 1 when all are.
  Result<std::uint64_t> FirstMissingCycle(const Identity& identity, std::uint64_t count);

  // Puts back what another journal of this job had, before anything is noted in this one: first its
  // steps, in no list, then its attempts with their sequences, of steps that are known. What is
  // known of a step is what came of its attempts.
  Status RestoreSteps(const std::vector<StepEntry>& steps);
  Status RestoreAttempts(const std::vector<AttemptEntry>& attempts);

  // Of what was noted last; 0 where nothing was.
  std::int64_t last_sequence() const { return next_sequence_ - 1; }

  // What else is to be remembered, by name.
  Status Set(std::string_view key, std::string_view value);
  Result<std::optional<std::string>> Get(std::string_view key);

  // Something is noted that is not committed.
  bool dirty() const { return in_transaction_; }
  Status Commit();
  // Writes the log back into the database and to the disk.
  Status Checkpoint();

 private:
  struct Statements {
    Statement insert_step, update_step, list, find, insert_attempt, attempts, attempts_after;
    Statement insert_cycle, cycles, delete_cycles, set, get;
  };

  explicit Journal(Database database) : database_(std::move(database)) {}

  Status Prepare();
  Status Begin();
  Status ReadAnew();
  Status Insert(const ListedStep& listed, std::int64_t id, std::int64_t position);
  Status InsertUnlisted(const StepEntry& step);
  Result<bool> Insert(const AttemptEntry& entry);
  Status Write(const StepEntry& step);
  Status SetState(const Identity& identity, StepState state);
  Result<std::vector<AttemptEntry>> ReadAttempts(Statement& rows);

  Database database_;
  Statements statements_;
  bool in_transaction_ = false;
  std::int64_t next_sequence_ = 1;
  std::map<Identity, std::uint32_t> anew_;  // the last attempt whose cycles do not count
};

}  // namespace reveza::runner
