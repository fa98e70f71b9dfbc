// Merges what other machines have done into a job: steps are the same if their identities are, a
// success wins over any failure, and merging the same journal twice changes nothing. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/journal/journal.h"
#include "reveza/jobs/journal/journal_reader.h"

namespace reveza::jobs {

struct MergeResult {
  std::uint64_t steps = 0;     // new to the job
  std::uint64_t attempts = 0;  // likewise
  // Labels of steps that have succeeded before, in another attempt: two machines have run them.
  std::vector<std::string> duplicates;
};

// Merges `source` into `journal`, and commits. Outputs of the attempts are in `outputs`; a step has
// those of its first success, else of its last attempt. kIncompatible: a row of `source` is
// damaged; nothing is merged then.
Result<MergeResult> MergeJournal(JournalReader& source, const std::filesystem::path& outputs,
                                 Journal& journal);

}  // namespace reveza::jobs
