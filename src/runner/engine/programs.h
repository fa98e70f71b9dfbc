// Which version of its program has finished a step. The program is no part of a step's identity:
// a changed one is said, and its steps run again only when somebody wants that.
//
// What is kept in the journal: for each program, from which attempt on (by their sequence) it was
// which, by the hash of its file. Looked at when a run begins; a program that changes while its
// steps run is not noticed. Thread-safety: none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "runner/definition/expander.h"
#include "runner/job.h"
#include "runner/journal/import_records.h"
#include "runner/journal/journal.h"

namespace reveza::runner {

struct ChangedProgram {
  std::filesystem::path path;
  std::uint64_t steps = 0;  // done by another version of it than there is now
};

// What a job is made of, and what its steps get; all of it must outlive the call.
struct ProgramsOf {
  const Job& job;
  const Expander& expander;
  std::span<const Identity> identities;         // of its steps
  const std::vector<std::string>& environment;  // "NAME=value", of every step
  const std::vector<LiveAttempt>& live;         // attempts that an earlier version is at
};

// Notes which programs there are now, and says those of which another version has finished steps.
// With `rerun` these steps wait again. A program that is not there, or that nobody has noted, has
// not changed.
Result<std::vector<ChangedProgram>> NotePrograms(Journal& journal, const ProgramsOf& what,
                                                 bool rerun);

// The journal was made anew, and these attempts have other sequences than they had: nobody knows
// which version of their program made them, so the oldest one is taken.
Status ForgetWhoMade(Journal& journal, const std::vector<AttemptName>& attempts);

}  // namespace reveza::runner
