#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "common/base/units.h"
#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/command_execution.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/daemon_link.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/gpu_probe.h"
#include "reveza/cli/reveza/policy_options.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/cli/reveza/use_mps.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using daemon::Settings;

std::vector<std::string> DaemonFlags(const Settings& settings) {
  std::vector<std::string> flags;
  if (settings.gpu_budget) {
    flags.insert(flags.end(), {"--gpu-budget", fmt::format("{}B", *settings.gpu_budget)});
  }
  if (settings.host_budget) {
    flags.insert(flags.end(), {"--host-budget", fmt::format("{}B", *settings.host_budget)});
  }
  return flags;
}

// Compares the requested budgets with those of the running daemon.
CommandResult<void> CompareBudgets(const Settings& settings, const nlohmann::json& status) {
  const auto differs = [](const char* flag, Bytes requested, const std::string& current) {
    return Failure(kOtherBudget,
                   "the daemon runs with {0} {1}, not {2}; run `reveza stop` first, or omit {0}",
                   flag, current, FormatBytes(requested));
  };
  const auto budget = status.find("gpu_budget");
  if (settings.gpu_budget && budget != status.end()) {
    if (!budget->is_number_unsigned()) {
      return differs("--gpu-budget", *settings.gpu_budget, "unlimited");
    }
    if (budget->get<Bytes>() != *settings.gpu_budget) {
      return differs("--gpu-budget", *settings.gpu_budget, FormatBytes(budget->get<Bytes>()));
    }
  }
  const Bytes host = status.value("/host/budget"_json_pointer, Bytes{0});
  if (settings.host_budget && host != *settings.host_budget) {
    return differs("--host-budget", *settings.host_budget, FormatBytes(host));
  }
  return {};
}

// Refuses a request for GPU memory that no GPU in use can keep. Where none is known yet, the first
// context decides.
CommandResult<void> CheckRequest(const wire::Policy& policy, const nlohmann::json& status) {
  const auto gpus = status.value("gpus", nlohmann::json::array());
  Bytes max_request = 0;
  for (const auto& gpu : gpus)
    max_request = std::max(max_request, gpu.value("max_request", ~Bytes{0}));
  if (gpus.empty() || policy.request <= max_request) return {};
  const auto& gpu = gpus.front();
  return Failure(kBudget,
                 "--memory: {} cannot be promised: at most {} of {} beside what is promised to and "
                 "held by others; see `reveza status`",
                 FormatBytes(policy.request), FormatBytes(max_request),
                 FormatBytes(gpu.value("budget", Bytes{0})));
}

// Returns a random id for REVEZA_JOB, which groups the processes of a program.
std::string NewJobId() {
  std::uint64_t job = 0;
  while (job == 0) {
    if (getrandom(&job, sizeof(job), 0) != sizeof(job)) job = static_cast<std::uint64_t>(getpid());
  }
  return fmt::format("{:016x}", job);
}

void Set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

void SetEnvironment(const fs::path& socket, const fs::path& library, const RunOptions& options,
                    const nlohmann::json& status) {
  Preload(library);
  Set("REVEZA_SOCKET", fs::absolute(socket).string());
  if (!options.same_job || !platform::ProcessEnvironment("REVEZA_JOB")) {
    Set("REVEZA_JOB", NewJobId());
  }
  if (!options.name.empty()) Set("REVEZA_NAME", options.name);
  if (options.resident) Set("REVEZA_RESIDENT", "1");
  if (options.larger_than_card) Set("REVEZA_LARGER_THAN_CARD", "1");
  if (options.policy.fields != 0) {
    Set("REVEZA_POLICY", FormatPolicy(options.policy));
  } else if (!options.same_job) {
    unsetenv("REVEZA_POLICY");  // that of the `reveza run` around this one
  }
  if (options.quiet) Set("REVEZA_QUIET", "1");
  const auto budget = status.find("gpu_budget");
  if (budget != status.end() && budget->is_number_unsigned()) {
    Set("REVEZA_GPU_BUDGET", fmt::format("{}", budget->get<Bytes>()));
  } else {
    unsetenv("REVEZA_GPU_BUDGET");
  }
}

}  // namespace

CommandResult<int> Run(const Settings& settings, const RunOptions& options) {
  RETURN_IF_ERROR(CheckCommand(options.command[0]));
  if (platform::ProcessEnvironment("REVEZA_DISABLE") == "1") return Execute(options.command);
  ASSIGN_OR_RETURN(const auto library, FindLibrary("libreveza.so"));
  if (settings.gpu_budget) {
    const auto gpu = ProbeGpu();
    if (gpu && *settings.gpu_budget > gpu->total) {
      return ReportError(kBudget, "--gpu-budget {} exceeds the GPU's memory; the maximum is {}",
                         FormatBytes(*settings.gpu_budget), FormatBytes(gpu->total));
    }
  }
  const fs::path socket = SocketPath(settings);
  ASSIGN_OR_RETURN(auto link, DaemonLink::ConnectOrStart(socket, DaemonFlags(settings)));
  ASSIGN_OR_RETURN(const auto status, link.Status());
  RETURN_IF_ERROR(CompareBudgets(settings, status));
  RETURN_IF_ERROR(CheckRequest(options.policy, status));
  SetEnvironment(socket, library, options, status);
  RETURN_IF_ERROR(UseMps(link, options, status, socket));
  return Execute(options.command);
}

}  // namespace reveza::cli
