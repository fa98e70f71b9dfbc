#include "reveza/cli/reveza/use_mps.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/platform/runtime_paths.h"
#include "reveza/gpu/daemon/mps_command.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kPipes = "CUDA_MPS_PIPE_DIRECTORY";
constexpr const char* kLogs = "CUDA_MPS_LOG_DIRECTORY";
constexpr const char* kPercentage = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";

void Notice(const RunOptions& options, const std::string& text) {
  if (!options.quiet) fmt::print(stderr, "reveza: {}\n", text);
}

wire::MpsRequest RequestOf(const RunOptions& options) {
  wire::MpsRequest request{};
  const std::string job = platform::ProcessEnvironment("REVEZA_JOB").value_or("");
  std::from_chars(job.data(), job.data() + job.size(), request.job, 16);
  const bool weighted = (options.policy.fields & wire::kPolicyWeight) != 0;
  request.weight = weighted ? options.policy.weight : wire::kWeightUnit;
  return request;
}

// Returns the daemon's answer, or why there is none.
CommandResult<json> Ask(DaemonLink& link, const RunOptions& options) {
  ASSIGN_OR_RETURN(json answer, link.AskForMps(RequestOf(options)));
  if (answer.contains("error")) return Failure(kNoMps, "{}", answer.value("error", ""));
  return answer;
}

}  // namespace

CommandResult<void> UseMps(DaemonLink& link, const RunOptions& options, const json& status,
                           const fs::path& socket) {
  const bool automatic = status.value("/mps/mode"_json_pointer, "") == "auto";
  const fs::path pipes = platform::ProcessEnvironment(kPipes).value_or("/tmp/nvidia-mps");
  // Of the `reveza run` around this one.
  const bool inherited = pipes.parent_path() == fs::absolute(socket).parent_path();
  if (!options.mps && !automatic && !inherited) return {};
  if (inherited) {
    for (const char* name : {kPipes, kLogs, kPercentage}) unsetenv(name);
  } else if (daemon::FindMpsDaemon(pipes)) {
    Notice(options, fmt::format("using the MPS control daemon that runs at {}", pipes.string()));
    return {};
  }
  const auto answer = Ask(link, options);
  if (!answer) {
    if (options.mps) return Failure(kNoMps, "--mps: {}", answer.error().message);
    Notice(options, "without MPS: " + answer.error().message);
    return {};
  }
  const fs::path folder = answer->value("folder", "");
  setenv(kPipes, folder.c_str(), 1);
  setenv(kLogs, (folder / "log").c_str(), 1);
  const auto percentage = answer->find("percentage");
  if (percentage != answer->end() && percentage->is_number()) {
    setenv(kPercentage, fmt::format("{}", percentage->get<int>()).c_str(), 0);
  }
  return {};
}

}  // namespace reveza::cli
