// Imports supervisors' records into the journal, after a runner was killed or the journal was lost.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

// A running attempt whose runner has exited.
struct LiveAttempt {
  AttemptName name;
  WallTime began = 0;
  std::filesystem::path record;
};

struct ImportResult {
  std::uint64_t attempts = 0;  // new to the journal
  std::uint64_t unknown = 0;   // of these, with unknown outcome
  std::vector<LiveAttempt> live;
};

// Owner of the supervisors that are still alive.
enum class Supervisors {
  kOrphans,  // a previous runner: wait until they have handled pending requests
  kOwn,      // the caller
};

// Imports all records of the job and commits, except those that the journal has all of. Adopts
// steps that the journal does not know. kUnavailable: an orphaned supervisor is stuck.
Result<ImportResult> ImportRecords(const JobFolder& folder, Journal& journal,
                                   Supervisors supervisors);
// Notes that all of these records is in the journal, without committing; nothing may be written to
// them unless it makes them larger.
Status NoteImported(Journal& journal, std::span<const std::filesystem::path> records);
// Imports one record without committing.
Status ImportRecord(const std::filesystem::path& record, Journal& journal, ImportResult& imported);

struct RebuildResult {
  Journal journal;
  ImportResult imported;                 // `attempts` counts all recovered attempts
  std::vector<AttemptName> from_record;  // recovered from records only, with new sequences
};

// Replaces a damaged journal by one rebuilt from its rows with valid checksums and from the
// records. The damaged file is kept as journal.db.damaged-N. The step list is restored by the next
// run; the output barrier is dropped, so that all outputs are verified after the next reboot.
// Atomic: on a read error (permissions, descriptors), a full disk or a kill, the old journal stays
// in place.
Result<RebuildResult> RebuildJournal(const JobFolder& folder);

}  // namespace reveza::jobs
