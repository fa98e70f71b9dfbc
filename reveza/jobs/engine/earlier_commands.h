// Why finished steps do not count in a run: the commands of the last run are kept beside the
// journal and compared with those of this one. Values of variables are not kept. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/journal/job_folder.h"

namespace reveza::jobs {

// Keeps the commands of a job for the next run.
Status KeepCommands(const JobFolder& folder, const Job& job);

// Returns the commands of the last run; empty if they are unknown.
std::vector<Command> KeptCommands(const JobFolder& folder);

// Returns how the identities of steps differ because of their commands: "the folder was /a, now
// /b"; empty if the commands are the same as far as they are known.
std::string DescribeDifferences(const std::vector<Command>& before,
                                const std::vector<Command>& now);

// Returns a job with the same commands in other folders, "simulate-3f2a9c01 (in /a)", if there is
// one in the state folder.
std::optional<std::string> SameJobElsewhere(const std::filesystem::path& state,
                                            const JobFolder& folder, const Job& job);

}  // namespace reveza::jobs
