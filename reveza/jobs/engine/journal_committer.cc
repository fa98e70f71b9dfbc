#include "reveza/jobs/engine/journal_committer.h"

#include <fmt/format.h>

#include <algorithm>

#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/journal/verify_outputs.h"

namespace reveza::jobs {
namespace {

using namespace std::chrono_literals;

constexpr auto kGroupCommit = 50ms;
constexpr auto kRetryCommit = 500ms;

}  // namespace

void JournalCommitter::Commit(Nanoseconds now, bool force) {
  if (!journal_.dirty() && !reimport_) {
    dirty_since_ = Nanoseconds{0};
    return;
  }
  if (dirty_since_ == Nanoseconds{0}) dirty_since_ = now;
  if (!force && (now < retry_at_ || now - dirty_since_ < kGroupCommit)) return;
  // Outputs first: a step recorded as done must have readable outputs.
  Status committed = durable_ && !reimport_ ? SyncOutputs() : Status{};
  if (committed) committed = journal_.Commit();
  if (committed && reimport_) {
    const auto imported = ImportRecords(folder_, journal_, Supervisors::kOwn);
    if (!imported) committed = std::unexpected(imported.error());
  }
  if (!committed) return EnterDegradedMode(committed.error(), now);
  reimport_ = false;
  error_.reset();
  dirty_since_ = Nanoseconds{0};
}

std::optional<JournalCommitter::Nanoseconds> JournalCommitter::next_commit() const {
  if (!journal_.dirty() && !reimport_) return std::nullopt;
  return std::max(retry_at_, dirty_since_ + kGroupCommit);
}

void JournalCommitter::EnterDegradedMode(const Error& error, Nanoseconds now) {
  if (!error_) {
    report_(fmt::format("cannot write the journal ({}); no new steps start until it succeeds",
                        error.message));
  }
  error_ = error;
  reimport_ = true;
  retry_at_ = now + kRetryCommit;
}

Status JournalCommitter::SyncOutputs() {
  if (!sync_outputs_) return {};
  ASSIGN_OR_RETURN(const auto set, AdvanceBarrier(journal_, outputs_));
  if (!set.error) return {};
  // A disk reports lost writes only once. Without the barrier these outputs are compared with their
  // hashes after a power cut.
  sync_outputs_ = false;
  report_(
      fmt::format("{}; results from now on are verified after a power cut, and steps with lost "
                  "outputs run again",
                  set.error->message));
  return {};
}

}  // namespace reveza::jobs
