// Commits the journal in groups, and handles a journal that cannot be written: degraded mode. In
// degraded mode no step starts; results stay in the supervisors' records and are imported once the
// journal can be written again. Not thread-safe; belongs to the runner's loop.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

class JournalCommitter {
 public:
  using Nanoseconds = std::chrono::nanoseconds;
  using Report = std::function<void(const std::string& note)>;

  // `outputs`: the steps' output folder; `durable`: whether outputs are synced before each commit.
  // `journal` must outlive the committer.
  JournalCommitter(Journal& journal, JobFolder folder, std::filesystem::path outputs, bool durable,
                   Report report)
      : journal_(journal),
        folder_(std::move(folder)),
        outputs_(std::move(outputs)),
        durable_(durable),
        report_(std::move(report)) {}

  // Commits pending writes if they are due, or at once with `force`.
  void Commit(Nanoseconds now, bool force);
  // Returns when Commit() has to be called; empty without pending writes.
  std::optional<Nanoseconds> next_commit() const;

  // Enters degraded mode after an error of the journal or of a record.
  void EnterDegradedMode(const Error& error, Nanoseconds now);
  // Returns the error while in degraded mode.
  const std::optional<Error>& error() const { return error_; }

  // Syncs the outputs written since the last call and marks them durable in the journal. Given up
  // after the file system refused once: the outputs are then verified after a power cut.
  Status SyncOutputs();

 private:
  Journal& journal_;
  JobFolder folder_;
  std::filesystem::path outputs_;
  bool durable_;
  Report report_;

  std::optional<Error> error_;
  bool sync_outputs_ = true;
  bool reimport_ = false;  // the journal lacks results that are in the records
  Nanoseconds dirty_since_{0};
  Nanoseconds retry_at_{0};
};

}  // namespace reveza::jobs
