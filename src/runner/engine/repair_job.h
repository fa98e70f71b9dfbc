// A journal that is damaged, made anew. Thread-safety: none; who calls it holds the job's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "runner/journal/job_folder.h"

namespace reveza::runner {

struct Repaired {
  std::uint64_t attempts = 0;     // that are known again
  std::uint64_t unknown = 0;      // of those: nobody saw how they ended
  std::vector<std::string> kept;  // what else was remembered and still is, in words
  bool added_lost = false;        // steps were added to the job, and nothing says which
};

// See RebuildJournal: what the damaged journal still says, the records and the added steps, which
// lie in a file of their own as well. The damaged one is kept beside it.
Result<Repaired> RepairJob(const JobFolder& folder);

}  // namespace reveza::runner
