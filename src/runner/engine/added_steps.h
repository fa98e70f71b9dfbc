// Steps that somebody adds to a job that runs or rests. They are kept in the journal, commands and
// all, and belong to the job from then on, whatever list it is run with. Thread-safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "runner/job.h"
#include "runner/journal/job_folder.h"
#include "runner/journal/journal.h"

namespace reveza::runner {

// How a step is called: "seed=57 rate=0.1", or its number where it has no parameters.
std::string LabelOf(const Job& job, std::uint32_t step);

// Keeps `more`, and lists those of its steps that the job does not have yet: so many. Not
// committed.
Result<std::uint64_t> AddSteps(Journal& journal, const Job& more);

// Puts what was added behind the steps of `job`, whose identities are `identities`, unless it is
// there already: so many. kIncompatible: what is kept cannot be read.
Result<std::uint64_t> MergeAdded(Journal& journal, Job& job, std::vector<Identity>& identities);

// What was added lies in the journal and in a file beside it, which outlives a journal that is
// damaged. Makes both have all of it, and commits nothing: to be called by who has added something,
// and when a job is opened or its journal was made anew. An error: one cannot be read or written.
Status SettleAdded(const JobFolder& folder, Journal& journal);

// Whether there is such a file and it is not what was written.
bool IsAddedFileDamaged(const JobFolder& folder);

}  // namespace reveza::runner
