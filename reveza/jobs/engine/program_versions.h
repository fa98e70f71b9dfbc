// Tracks which version of its program finished a step. The program is not part of a step's
// identity: a change is reported, and its steps run again only on request.
//
// The journal stores the versions of each program as file hashes, with the attempt sequence number
// from which each applies. Programs are checked when a run starts; a change during the run goes
// unnoticed. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/engine/step_list.h"
#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

struct ChangedProgram {
  std::filesystem::path path;
  std::uint64_t steps = 0;  // finished by another version than the current one
};

// The steps whose programs are tracked. References must outlive the call.
struct ProgramContext {
  const Job& job;
  const Expander& expander;
  const std::vector<std::string>& environment;  // "NAME=value", of every step
  const std::vector<LiveAttempt>& live;         // attempts started earlier and still running
  const StepList& list;                         // of the journal
};

// Records the current program versions and returns the programs of which another version has
// finished steps. With `rerun`, requeues these steps. A missing or unrecorded program counts as
// unchanged.
Result<std::vector<ChangedProgram>> TrackPrograms(Journal& journal, const ProgramContext& what,
                                                  bool rerun);

// Attributes `attempts` to the oldest version of their programs. For a rebuilt journal, in which
// their sequence numbers have changed and the actual version is unknown.
Status AssumeOldestVersion(Journal& journal, const std::vector<AttemptName>& attempts);

}  // namespace reveza::jobs
