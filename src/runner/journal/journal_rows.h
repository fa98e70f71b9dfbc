// The rows of the journal, as values, each compared with its checksum. Private to the journal.
// Thread-safety: none.
#pragma once

#include <string>

#include "base/error.h"
#include "runner/journal/journal.h"
#include "runner/journal/sqlite.h"

namespace reveza::runner {

inline constexpr const char* kStepColumns =
    "SELECT id, identity, state, attempts, label, files, sum FROM step ";
inline constexpr const char* kAttemptColumns =
    "SELECT identity, attempt, outcome, code, pid, began, ended, paused, user_time, system_time, "
    "largest_resident, output_bytes, error_bytes, peak, output_hash, boot, sequence, sum "
    "FROM attempt ";
inline constexpr const char* kCycleColumns =
    "SELECT identity, number, attempt, at, metrics, sum FROM cycle ";
inline constexpr const char* kNoteColumns = "SELECT key, value, sum FROM meta ";

// A row of `meta`.
struct Note {
  std::string key;
  std::string value;
};

// Of a statement that selects these columns. kIncompatible: it is not what its checksum says.
Result<StepEntry> ReadStep(const Statement& row);
Result<AttemptEntry> ReadAttempt(const Statement& row);
Result<CycleResult> ReadCycle(const Statement& row);
Result<Note> ReadNote(const Statement& row);

// All rows of all tables. One that lies under another key than it was written with would not be
// found by who looks for it, so it has to be looked for here.
Status CheckRows(Database& database);

}  // namespace reveza::runner
