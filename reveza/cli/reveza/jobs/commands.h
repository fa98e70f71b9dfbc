// The commands of `reveza jobs`, and what those that work on an existing job share. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal_reader.h"

namespace reveza::cli {

// What the command line of a command that works on an existing job says.
struct JobsArguments {
  std::string command;  // "show"
  std::string job;
  std::string other_job;             // of `compare`
  std::string step;                  // a number or label
  std::vector<std::string> steps;    // the same
  std::vector<std::string> folders;  // of `merge`
  std::uint32_t attempt = 0;         // 0: the last one
  bool follow = false;
  bool cycles = false;
  bool csv = false;
  bool parquet = false;
  bool json = false;
  std::string output;  // a file
};

// Each returns the exit status; JobsCommand() reports errors.

// Runs a job until it is done, or hands it to a detached runner. argv[0] is the command's name, as
// for all commands that are followed by another program's command line.
Result<int> RunJob(int argc, char** argv);

// Runs the steps of a task of an array: FOLDER NUMBER STATE. For scripts that `run --on` writes;
// the help does not list it.
Result<int> RunTask(int argc, char** argv);

// Commands that only read.
Result<int> ListJobs(const JobsArguments& arguments);
Result<int> ShowJob(const JobsArguments& arguments);
Result<int> TableOfJob(const JobsArguments& arguments);
Result<int> CompareJobs(const JobsArguments& arguments);
Result<int> ReportOfJob(const JobsArguments& arguments);
Result<int> ShowLogs(const JobsArguments& arguments);
Result<int> WhyJob(const JobsArguments& arguments);
Result<int> TuneJob(const JobsArguments& arguments);
Result<int> FollowJob(const JobsArguments& arguments);
Result<int> WaitForJob(const JobsArguments& arguments);

// Commands that change what a job has to run, with or without a runner.
Result<int> RetryJob(const JobsArguments& arguments);
Result<int> AddToJob(int argc, char** argv);

// Sends the command's name ("pause", "resume", "stop", "cancel") to the job's runner as a request.
Result<int> ControlJob(const JobsArguments& arguments);

// Merges the copies that shards have written to `folders` into a job.
Result<int> MergeShards(const JobsArguments& arguments);

// Commands that repair or delete a job.
Result<int> RepairJob(const JobsArguments& arguments);
Result<int> PruneJob(const JobsArguments& arguments);

// Kills the runner of a job, resumes the job, and runs the doctor; takes about twenty seconds.
// Returns kResults if a step was lost or repeated. `demo --worker SEED FROM`, which the help does
// not list, runs one of the demo's steps.
Result<int> JobsDemo(int argc, char** argv);

// Returns the names of this user's jobs, and the labels of a job's steps; nothing if they cannot be
// read. For completion.
std::vector<std::string> JobNames();
std::vector<std::string> StepLabels(const std::string& job, std::size_t max);

// Returns the folder to which the last run of a job wrote the outputs of steps.
std::filesystem::path OutputFolder(const jobs::JobFolder& folder, jobs::JournalReader& journal);
// Prints a line about a running job: what its runner answered to `status`.
void PrintStatus(const nlohmann::json& status);

// Finds a job of this user by name. kNotFound if there is none.
Result<jobs::JobFolder> FindJob(const std::string& name);

// Returns the error of a step that is neither a number nor a label of the job's.
std::unexpected<Error> NoSuchStep(const std::string& step, const std::string& job,
                                  std::uint64_t steps);

// Returns the index of the step with this number (from 1) or label. kInvalidArgument if `job` has
// none.
Result<std::size_t> FindStep(const std::vector<jobs::StepEntry>& steps, const std::string& step,
                             const std::string& job);

}  // namespace reveza::cli
