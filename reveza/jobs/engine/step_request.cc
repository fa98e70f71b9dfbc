#include "reveza/jobs/engine/step_request.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "reveza/jobs/journal/verify_outputs.h"
#include "reveza/jobs/supervisor/disk_space.h"

namespace reveza::jobs {
namespace {

constexpr std::int64_t kGrace = 10'000'000'000;  // ns between SIGTERM and SIGKILL
constexpr const char* kVisibleDevices = "CUDA_VISIBLE_DEVICES";
constexpr const char* kDeviceOrder = "CUDA_DEVICE_ORDER";

std::optional<std::string> ValueOf(const std::vector<std::string>& environment,
                                   const std::string& name) {
  const std::string prefix = name + "=";
  for (const auto& variable : environment) {
    if (variable.starts_with(prefix)) return variable.substr(prefix.size());
  }
  return std::nullopt;
}

// Sets a variable, replacing an earlier value.
void SetVariable(std::vector<std::string>& environment, const std::string& name,
                 const std::string& value) {
  const std::string prefix = name + "=";
  std::erase_if(environment,
                [&](const std::string& variable) { return variable.starts_with(prefix); });
  environment.push_back(prefix + value);
}

}  // namespace

std::optional<DeviceNames> StepRequestBuilder::DevicesOf(std::uint32_t step,
                                                         std::size_t slot) const {
  std::optional<std::string> visible = ValueOf(defaults_.environment, kVisibleDevices);
  std::optional<std::string> order = ValueOf(defaults_.environment, kDeviceOrder);
  const Step& what = defaults_.job.steps[step];
  const auto names_devices = [](const auto& variable) {
    return variable.first == kVisibleDevices || variable.first == kDeviceOrder;
  };
  if (std::ranges::any_of(defaults_.job.commands[what.command].environment, names_devices)) {
    const auto expanded =
        defaults_.expander.Expand(what, {slot + 1, NumberOf(defaults_.job, step), 1, 1});
    if (!expanded) return std::nullopt;
    for (const auto& [name, value] : expanded->environment) {
      if (name == kVisibleDevices) visible = value;
      if (name == kDeviceOrder) order = value;
    }
  }
  if (!visible) return std::nullopt;
  return DeviceNames{*visible, order.value_or("")};
}

// Sizes thread pools to the step's share of the cores, unless the user has set them.
void StepRequestBuilder::AddThreadSettings(const Command& command, std::size_t slot,
                                           unsigned workers, StartRequest& request) const {
  ThreadRequest threads;
  threads.workers = workers;
  threads.share = command.claim.cpus.value_or(defaults_.cores / std::max(1u, workers));
  threads.slot = static_cast<unsigned>(slot) + 1;
  threads.topology = topology_;
  threads.gpu = LaneOf(command) == Lane::kGpu;
  const auto& environment = request.environment;
  const auto find = [&](const char* name) { return ValueOf(environment, name); };
  auto made = MakeThreadEnvironment(threads, find);
  for (const auto& setting : made.settings) {
    request.environment.push_back(setting.name + "=" + setting.value);
  }
  request.processors = std::move(made.cores);
}

Status StepRequestBuilder::MakeOutputFolder(const std::filesystem::path& folder) {
  if (folders_.contains(folder)) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Fail(Error::Code::kPermission,
                "cannot create the output folder {}: {}; check free space and permissions",
                folder.string(), error.message());
  }
  folders_.insert(folder);
  return {};
}

Result<StartRequest> StepRequestBuilder::Build(const StepEntry& entry, std::size_t slot,
                                               unsigned workers, Journal& journal,
                                               ActiveAttempt& active) {
  const Step& step = defaults_.job.steps[active.step];
  const Command& command = defaults_.job.commands[step.command];
  BuiltIns built_ins{slot + 1, NumberOf(defaults_.job, active.step), 1, 1};
  StartRequest request;
  if (command.cycles) {
    ASSIGN_OR_RETURN(const auto first,
                     journal.FirstMissingCycle(entry.identity, command.cycles->count));
    built_ins.from = std::min(first, command.cycles->count);
    built_ins.to = command.cycles->count;
    if (command.cycles->chain > 0) {
      built_ins.to = std::min(built_ins.to, built_ins.from + command.cycles->chain - 1);
    }
    request.cycles = command.cycles->count;
    active.first_cycle = built_ins.from;
  }
  ASSIGN_OR_RETURN(auto expanded, defaults_.expander.Expand(step, built_ins));
  request.name = active.name;
  request.label = entry.label;
  if (LaneOf(command) == Lane::kGpu) request.arguments = defaults_.gpu_prefix;
  request.arguments.insert(request.arguments.end(), expanded.arguments.begin(),
                           expanded.arguments.end());
  request.environment = defaults_.environment;
  for (const auto& [name, value] : expanded.environment) {
    SetVariable(request.environment, name, value);
  }
  SetVariable(request.environment, "REVEZA_JOB_NAME", defaults_.job.name);
  SetVariable(request.environment, "REVEZA_STEP", std::to_string(built_ins.step));
  SetVariable(request.environment, "REVEZA_SLOT", std::to_string(built_ins.slot));
  SetVariable(request.environment, "REVEZA_ATTEMPT", std::to_string(active.name.attempt));
  AddThreadSettings(command, slot, workers, request);
  // A value set by the user may name other GPUs or a MIG instance, and is kept.
  if (active.gpu && !ValueOf(request.environment, kVisibleDevices)) {
    SetVariable(request.environment, kVisibleDevices, nvml::FormatUuid(*active.gpu));
  }
  request.folder = expanded.folder;
  const auto files = defaults_.outputs / entry.files;
  RETURN_IF_ERROR(MakeOutputFolder(files.parent_path()));
  if (!HasFreeBlocks(files.parent_path())) {
    return Fail(Error::Code::kExhausted, "the disk of {} is full; steps start when it has room",
                files.parent_path().string());
  }
  if (active.name.attempt > 1) {
    RETURN_IF_ERROR(KeepOutputs(files, active.name.attempt - 1));
  }
  request.output = files.string() + ".out";
  request.errors = files.string() + ".err";
  if (command.time_limit) request.time_limit = command.time_limit->count();
  request.grace = kGrace;
  return request;
}

}  // namespace reveza::jobs
