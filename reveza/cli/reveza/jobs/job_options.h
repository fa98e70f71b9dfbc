// The options of `reveza jobs run`: declaration and conversion. Pure functions.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/jobs/definition/job.h"
#include "reveza/jobs/definition/run_request.h"

namespace reveza::cli {

// The values as given on the command line; empty if absent.
struct JobOptions {
  std::string name, workers, max_workers, job_file, csv, folder, time_limit, priority, cpus, memory;
  std::string gpu_memory, cycles, chain, halt, on_unknown, retries, memory_reserve, cpu_budget;
  std::string joblog, output, output_folder, limits, shard, export_folder, on, shared;
  std::string image, pod_template;
  std::vector<std::string> environment, identity_variables, inputs, volumes;
  bool lines = false, shell = false;
  jobs::RunRequest flags;  // of the run
};

// Declares all options; `app` stores their values in `options`.
void AddJobOptions(CLI::App& app, JobOptions& options);
// Declares those of `reveza jobs add`, which describe the command.
void AddCommandOptions(CLI::App& app, JobOptions& options);

// Converts the options that control the run; relative paths are resolved against `folder`.
// kInvalidArgument names the option and the valid values.
Result<jobs::RunRequest> ReadRequest(const JobOptions& options,
                                     const std::filesystem::path& folder);

// Converts the options that describe the command. Errors and paths as ReadRequest().
Result<jobs::Command> ReadCommand(const JobOptions& options, std::vector<std::string> arguments,
                                  const std::filesystem::path& folder);

// Rejects options that describe a command, for use with a job file, which has keys for them.
Status CheckNoCommandOptions(const JobOptions& options);

}  // namespace reveza::cli
