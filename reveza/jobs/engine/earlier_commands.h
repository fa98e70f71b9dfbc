// Why finished steps do not count in a run: what the identities of steps depend on is kept beside
// the journal and compared with that of this run. Values of variables are not kept, only four bytes
// of their hashes. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/platform/runtime_paths.h"
#include "reveza/jobs/definition/identity.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/journal/job_folder.h"

namespace reveza::jobs {

// What the identities of a job's steps depend on.
struct JobContent {
  std::vector<Command> commands = {};
  std::map<std::string, std::string> hashes = {};  // by what is hashed: "the content of /a/in.csv"
  std::vector<std::pair<std::string, std::string>> parameters = {};  // of the first step
};

// `files`: the input files, as they were hashed for the identities.
JobContent ContentOf(const Job& job, const FileHashCache& files,
                     const platform::Environment& environment = platform::ProcessEnvironment);

// Keeps the content of a job for the next run.
Status KeepContent(const JobFolder& folder, const JobContent& content);

// Returns the content of the last run's job; empty as far as it is unknown.
JobContent KeptContent(const JobFolder& folder);
std::vector<Command> KeptCommands(const JobFolder& folder);

// Returns why the identities of steps differ: "the folder was /a, now /b"; empty if the content is
// the same as far as it is known.
std::string DescribeDifferences(const JobContent& before, const JobContent& now);

// Steps of a run, compared with the job's journal.
struct NewSteps {
  std::uint64_t added = 0;    // never attempted
  std::uint64_t listed = 0;   // in all
  std::uint64_t dropped = 0;  // finished, and no longer listed
};

// Explains why steps that look finished run. `id`: of the job, which may not exist yet.
std::optional<std::string> ExplainNewSteps(const std::filesystem::path& state,
                                           const std::string& id, const JobContent& now,
                                           const NewSteps& steps);

}  // namespace reveza::jobs
