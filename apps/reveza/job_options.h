// The options of `reveza jobs run`, as they are typed and as what they mean.
// Thread-safety: pure functions of their arguments.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "runner/job.h"
#include "runner/run_request.h"

namespace reveza::cli {

// As they are typed. Empty: not given.
struct JobOptions {
  std::string name, workers, max_workers, job_file, csv, folder, time_limit, priority, cpus, memory;
  std::string gpu_memory, cycles, chain, halt, on_unknown, retries, memory_reserve, cpu_budget;
  std::string joblog, output_folder, limits;
  std::vector<std::string> environment, identity_variables, inputs;
  bool lines = false, shell = false, keep_order = false, detach = false, durable = false;
  bool retry_failed = false, force = false, rerun_if_program_changed = false, dry_run = false;
  bool json = false, quiet = false;
};

// Says them all to `app`, which writes what it reads to `options`.
void AddJobOptions(CLI::App& app, JobOptions& options);

// How the job is run; relative names begin in `folder`. kInvalidArgument: which option is wrong,
// and what would be right.
Result<runner::RunRequest> ReadRequest(const JobOptions& options,
                                       const std::filesystem::path& folder);

// The command with what the options say of it. Likewise.
Result<runner::Command> ReadCommand(const JobOptions& options, std::vector<std::string> arguments,
                                    const std::filesystem::path& folder);

// kInvalidArgument: an option was given that belongs to a command, where a job file has a key.
Status CheckNoneOfACommand(const JobOptions& options);

}  // namespace reveza::cli
