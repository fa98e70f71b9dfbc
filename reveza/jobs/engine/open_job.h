// Prepares a job for the engine: locks its folder, opens the journal, imports records and updates
// the list of steps and the versions of their programs. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/unique_fd.h"
#include "reveza/jobs/definition/expander.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/engine/program_versions.h"
#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::jobs {

struct OpenedJob {
  UniqueFd lock;  // hold it while the parts are in use
  EngineParts parts;
  ImportResult imported;
  std::uint64_t verified = 0;      // outputs checked after a reboot
  std::uint64_t lost = 0;          // of those, changed or missing: their steps run again
  std::vector<std::string> notes;  // for the user, one line each
};

// Opens `job` in the state folder `state` and appends steps added to it earlier. `job` and
// `expander` must outlive the result; they grow when steps are added. kUnavailable: the job has a
// runner already. kIncompatible: the journal is damaged; the message names the command that repairs
// it. `identities`: of the job's steps, if they are known.
Result<OpenedJob> OpenJob(const std::filesystem::path& state, Job& job, Expander& expander,
                          const RunRequest& request, const std::filesystem::path& supervisor,
                          std::vector<Identity> identities = {});

// Checks the programs and folders of a job that has no journal yet; see CheckPrograms. OpenJob()
// does so too, for all steps that it would start.
Status CheckNewJob(const std::filesystem::path& state, const Job& job, const Expander& expander);

// Rebuilds a damaged journal. Not thread-safe; the caller holds the job's lock.
struct Repaired {
  std::uint64_t attempts = 0;     // recovered
  std::uint64_t unknown = 0;      // of those, with unknown outcome
  std::vector<std::string> kept;  // other recovered data, for the user
  bool added_lost = false;        // steps had been added to the job and cannot be recovered
};

// Rebuilds the journal from what the damaged one still holds, the records and the file of added
// steps; see RebuildJournal. The damaged journal is kept beside it.
Result<Repaired> RepairJob(const JobFolder& folder);

}  // namespace reveza::jobs
