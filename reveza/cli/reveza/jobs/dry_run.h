// `reveza jobs run --dry-run`: describes what would run. Pure functions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/jobs/job_arguments.h"
#include "reveza/jobs/definition/thread_environment.h"
#include "reveza/jobs/engine/job_preview.h"

namespace reveza::cli {

// The machine state that the text depends on.
struct DryRunView {
  std::optional<jobs::JobPreview> preview = std::nullopt;  // nullopt: unknown
  jobs::Topology topology;
  std::optional<double> cores;
  platform::Environment environment;
  std::filesystem::path root = "/";  // where the control groups are mounted
};
DryRunView LocalDryRunView();

// Returns the number of steps, their claims, the first steps as they would run, and the environment
// with the reason for each value. Ends with a newline.
std::string DryRunText(const ParsedRun& run, const DryRunView& view = LocalDryRunView());

}  // namespace reveza::cli
