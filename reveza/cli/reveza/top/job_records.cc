#include "reveza/cli/reveza/top/job_records.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "common/platform/runtime_paths.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using jobs::StepState;

double RecordSeconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

// Returns when the journal or its write-ahead log was written; nullopt without a journal.
std::optional<fs::file_time_type> LastJournalChange(const fs::path& journal) {
  std::error_code error;
  auto changed = fs::last_write_time(journal, error);
  if (error) return std::nullopt;
  const auto log = fs::last_write_time(journal.string() + "-wal", error);
  return error ? changed : std::max(changed, log);
}

bool IsOlderThan(fs::file_time_type changed, double since) {
  const auto at = std::chrono::file_clock::to_sys(changed).time_since_epoch();
  return std::chrono::duration<double>(at).count() < since;
}

void AddAttempt(monitor::JobRecord& record, const jobs::AttemptResult& attempt) {
  ++record.attempts[ToText(attempt.outcome)];
  record.ended = std::max(record.ended, RecordSeconds(attempt.ended));
  record.cpu_seconds += RecordSeconds(attempt.user_time + attempt.system_time);
  if (attempt.outcome == jobs::Outcome::kSuccess) {
    record.durations.Add(RecordSeconds(attempt.ended - attempt.began - attempt.paused));
  }
}

void SetStepCounts(monitor::JobRecord& record, const std::vector<jobs::StepEntry>& steps) {
  std::map<StepState, std::uint64_t> counts;
  for (const auto& step : steps) ++counts[step.state];
  record.steps = {steps.size(), counts[StepState::kDone], 0, counts[StepState::kWaiting],
                  // Without a runner, a step whose retry is undecided has failed.
                  counts[StepState::kFailed] + counts[StepState::kUndecided], 0};
  record.unknown = counts[StepState::kUnknown];
}

}  // namespace

Status JobRecords::Update(const jobs::JobFolder& folder, Known& known) {
  ASSIGN_OR_RETURN(auto journal, jobs::Journal::Open(folder.journal()));
  // A new journal in the place of the old one counts from the beginning.
  if (journal.last_sequence() < known.sequence) known = Known(folder.id());
  ASSIGN_OR_RETURN(const auto attempts, journal.AttemptsAfter(known.sequence));
  for (const auto& attempt : attempts) {
    known.sequence = attempt.sequence;
    AddAttempt(known.record, attempt.result);
  }
  if (known.record.running) return {};
  ASSIGN_OR_RETURN(const auto steps, journal.List());
  SetStepCounts(known.record, steps);
  return {};
}

std::vector<monitor::JobRecord> JobRecords::Read(double since) {
  const auto state = platform::StateHome(platform::ProcessEnvironment);
  if (!state) return {};
  std::vector<monitor::JobRecord> records;
  std::map<std::string, Known> known_now;
  for (const std::string& id : jobs::JobFolder::List(*state)) {
    const auto folder = jobs::JobFolder::Find(*state, id);
    if (!folder) continue;
    const bool running = folder->IsLocked().value_or(false);
    const auto changed = LastJournalChange(folder->journal());
    if (!changed || (!running && IsOlderThan(*changed, since))) continue;
    const auto before = known_.find(id);
    Known known = before == known_.end() ? Known(id) : std::move(before->second);
    const bool same = before != known_.end() && known.changed == *changed;
    if (!same || known.record.running != running) {
      known.record.running = running;
      if (!Update(*folder, known)) continue;
      known.record.running = running;
      // Reading may move the write-ahead log into the journal.
      known.changed = LastJournalChange(folder->journal()).value_or(*changed);
    }
    if (running || known.record.ended >= since) records.push_back(known.record);
    known_now.emplace(id, std::move(known));
  }
  known_ = std::move(known_now);
  return records;
}

}  // namespace reveza::cli
