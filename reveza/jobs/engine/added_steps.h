// Steps appended to an existing job, running or not. They are stored in the journal with their
// commands and belong to the job from then on, whatever list it is run with. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

// Returns the steps from `first` on with their labels: "seed=57 rate=0.1", or their number without
// parameters.
std::vector<ListedStep> ListSteps(const Job& job, std::span<const Identity> identities,
                                  std::size_t first = 0);

// Stores `more` and lists those of its steps that are new to the job. Returns how many. Does not
// commit.
Result<std::uint64_t> AddSteps(Journal& journal, const Job& more);

// Appends the stored steps that `job` lacks, and their identities. Returns how many. kIncompatible:
// the stored steps cannot be read.
Result<std::uint64_t> MergeAddedSteps(Journal& journal, Job& job,
                                      std::vector<Identity>& identities);

// Synchronises the added steps between the journal and a separate file that survives a damaged
// journal, so that both hold all of them. Call after AddSteps, when a job is opened, and after its
// journal was rebuilt. Does not commit.
Status SyncAddedSteps(const JobFolder& folder, Journal& journal);

// Returns whether the file of added steps exists but fails its checksum.
bool IsAddedFileDamaged(const JobFolder& folder);

}  // namespace reveza::jobs
