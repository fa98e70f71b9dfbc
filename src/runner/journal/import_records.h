// What supervisors wrote down and the journal does not know yet: after a runner was killed, or
// after the journal was lost. Thread-safety: none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "runner/journal/job_folder.h"
#include "runner/journal/journal.h"

namespace reveza::runner {

// An attempt that still runs, under a supervisor whose runner is gone.
struct LiveAttempt {
  AttemptName name;
  WallTime began = 0;
  std::filesystem::path record;
};

struct Imported {
  std::uint64_t attempts = 0;  // that the journal did not know
  std::uint64_t unknown = 0;   // of those: nobody saw how they ended
  std::vector<LiveAttempt> live;
};

// Whose the supervisors are that still live.
enum class Supervisors {
  kOrphans,  // of a runner that is gone: what they have been told is waited for
  kOwn,      // of the caller
};

// Brings all records of the job into the journal, and commits. A step that the journal does not
// know is adopted. kUnavailable: an orphan neither works nor ends.
Result<Imported> ImportRecords(const JobFolder& folder, Journal& journal, Supervisors supervisors);
// The same for one record.
Status ImportRecord(const std::filesystem::path& record, Journal& journal, Imported& imported);

struct Rebuilt {
  Journal journal;
  Imported imported;                     // `attempts`: all that are known again
  std::vector<std::string> kept;         // names of what else was remembered and still is
  std::vector<AttemptName> from_record;  // of these only a record knew: their sequences are new
};

// Puts a new journal in the place of what is there, which stays beside it (journal.db.damaged-N):
// made of what the damaged one still says, row by row, where a row is what its checksum says, and
// of the records. The list comes with the next run. Up to where outputs were synchronised is
// forgotten: after a reboot all are looked at. All or nothing: where something cannot be read now
// (permission, descriptors), there is no room, or the caller is killed, all is as it was.
Result<Rebuilt> RebuildJournal(const JobFolder& folder);

}  // namespace reveza::runner
