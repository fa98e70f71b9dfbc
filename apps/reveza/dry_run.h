// `reveza jobs run --dry-run`: what would run, in words. Thread-safety: pure functions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "job_arguments.h"
#include "platform/runtime_paths.h"
#include "runner/definition/thread_environment.h"

namespace reveza::cli {

// What the text depends on beside the job.
struct DryRunView {
  runner::Topology topology;
  std::optional<double> cores;
  platform::Environment environment;
  std::filesystem::path root = "/";  // of the machine whose control groups are looked at
};
DryRunView ThisMachinesView();

// The first steps as they would run, the environment with the reason for each value, how many steps
// there are and what they claim. Ends with a line end.
std::string DryRunText(const ParsedRun& run, const DryRunView& view);
std::string DryRunText(const ParsedRun& run);

}  // namespace reveza::cli
