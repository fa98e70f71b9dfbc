// The commands of `reveza`. Each returns the exit status (docs/errors.md), or an error that main()
// reports; argv[0] of those that parse their own arguments is the command's name.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/cli/completion.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/gpu/daemon/settings.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::cli {

struct RunOptions {
  std::string name;
  bool quiet = false;
  bool resident = false;
  bool larger_than_card = false;
  bool same_job = false;  // stay in the job of the `reveza run` around this one
  bool mps = false;       // fail if MPS cannot be used
  wire::Policy policy{};
  std::vector<std::string> command;
};
// Starts the daemon if needed, then executes the command in this process. Returns only on failure.
CommandResult<int> Run(const daemon::Settings& settings, const RunOptions& options);

// The text of `reveza status`, at most 96 columns wide. Pure functions.
// The last line has no newline.
std::string StatusText(const nlohmann::json& status);

// Truncates to `width` characters, ending in "..." if anything is cut.
std::string Shorten(const std::string& text, std::size_t width);

CommandResult<int> ShowStatus(const daemon::Settings& settings, bool as_json, bool watch);
CommandResult<int> WriteTrace(const daemon::Settings& settings, const std::string& file);
// Executes the command in this process and records the driver calls that it makes. Returns only on
// failure.
CommandResult<int> TraceCalls(const std::string& file, const std::vector<std::string>& command);
CommandResult<int> StopDaemon(const daemon::Settings& settings, bool force);
// Changes the policy of the job named `name`, or of a process with that number.
CommandResult<int> ChangeJob(const daemon::Settings& settings, const std::string& name,
                             const wire::Policy& policy);
int ShowConfiguration(const daemon::Configuration& configuration);
int ShowConfigurationPath();
int ShowVersion();

// Examines a process, a command or this machine and prints the findings.
CommandResult<int> DoctorCommand(int argc, char** argv);
// Dispatches to the commands of jobs/commands.h.
CommandResult<int> JobsCommand(int argc, char** argv);
// Executes reveza-metrics, a separate program because it needs shared libraries that `reveza` does
// without. Returns only on failure.
CommandResult<int> MetricsCommand(int argc, char** argv);
// Shows machine, GPUs, programs and jobs; live, or once as text, JSON or CSV.
CommandResult<int> Top(int argc, char** argv);
// Plays jobs on simulated cards.
CommandResult<int> SimulateCommand(int argc, char** argv);
// Shows what programs used of the GPUs.
CommandResult<int> UsageCommand(int argc, char** argv);
// Executes reveza-web, a separate program for the same reason as reveza-metrics. Returns only on
// failure.
CommandResult<int> WebCommand(int argc, char** argv);
// Runs three programs whose memory exceeds the GPU's one by one, then concurrently. Leaves no
// processes and no files behind, even if interrupted.
CommandResult<int> Demo(bool as_json);

// Declare the command lines of those above, for help, completion and the man page.
void DescribeDoctor(CLI::App& app);
void DescribeJobs(CLI::App& app);
void DescribeMetrics(CLI::App& app);
void DescribeSimulate(CLI::App& app);
void DescribeTop(CLI::App& app);
void DescribeUsage(CLI::App& app);
void DescribeWeb(CLI::App& app);

// The values that `reveza` can complete: jobs, steps, running programs, findings.
command_line::CompletionSource CompletionValues();

}  // namespace reveza::cli
