// The commands of `reveza jobs`, and what those that work on an existing job share. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::cli {

// argv[0] is the command's name. Each returns the exit status; JobsCommand() reports errors.

// Runs a job until it is done, or hands it to a detached runner.
Result<int> RunJob(int argc, char** argv);

// Commands that only read.
Result<int> ListJobs(int argc, char** argv);
Result<int> ShowJob(int argc, char** argv);
Result<int> TableOfJob(int argc, char** argv);
Result<int> ShowLogs(int argc, char** argv);
Result<int> WhyJob(int argc, char** argv);
Result<int> TuneJob(int argc, char** argv);
Result<int> FollowJob(int argc, char** argv);
Result<int> WaitForJob(int argc, char** argv);

// Commands that change what a job has to run, with or without a runner.
Result<int> RetryJob(int argc, char** argv);
Result<int> AddToJob(int argc, char** argv);

// Sends the command's name ("pause", "resume", "stop", "cancel") to the job's runner as a request.
Result<int> ControlJob(int argc, char** argv);

// Commands that repair or delete a job.
Result<int> RepairJob(int argc, char** argv);
Result<int> PruneJob(int argc, char** argv);

// Kills the runner of a job, resumes the job, and runs the doctor; takes about twenty seconds.
// Returns kResults if a step was lost or repeated. `demo --worker SEED FROM`, which the help does
// not list, runs one of the demo's steps.
Result<int> JobsDemo(int argc, char** argv);

struct Positionals {
  std::vector<std::string> names;
  bool json = false;
};

// Parses `min` to `max` positional arguments and --json. kInvalidArgument for anything else, with
// `usage` (the command line after "reveza jobs").
Result<Positionals> ParsePositionals(int argc, char** argv, std::size_t min, std::size_t max,
                                     std::string_view usage);

// Finds a job of this user by name. kNotFound if there is none.
Result<jobs::JobFolder> FindJob(const std::string& name);

// Finds the job that is the only argument.
Result<jobs::JobFolder> FindJobArgument(int argc, char** argv);

// Returns the index of the step with this number (from 1) or label. kInvalidArgument if `job` has
// none.
Result<std::size_t> FindStep(const std::vector<jobs::StepEntry>& steps, const std::string& step,
                             const std::string& job);

}  // namespace reveza::cli
