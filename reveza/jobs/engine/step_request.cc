#include "reveza/jobs/engine/step_request.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include "reveza/jobs/journal/verify_outputs.h"

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

void RemoveVariable(std::vector<std::string>& environment, const std::string& name) {
  const std::string prefix = name + "=";
  std::erase_if(environment,
                [&](const std::string& variable) { return variable.starts_with(prefix); });
}

// Sets a variable, replacing an earlier value.
void SetVariable(std::vector<std::string>& environment, const std::string& name,
                 const std::string& value) {
  RemoveVariable(environment, name);
  environment.push_back(name + "=" + value);
}

// What tells a step who it is.
constexpr const char* kJobName = "REVEZA_JOB_NAME";
constexpr const char* kStep = "REVEZA_STEP";
constexpr const char* kSlot = "REVEZA_SLOT";
constexpr const char* kAttempt = "REVEZA_ATTEMPT";

}  // namespace

StepRequestBuilder::StepRequestBuilder(RequestDefaults defaults) : defaults_(std::move(defaults)) {
  auto inherited =
      std::make_shared<InheritedEnvironment>(InheritedEnvironment{defaults_.environment});
  for (const char* name : {kJobName, kStep, kSlot, kAttempt}) {
    RemoveVariable(inherited->variables, name);
  }
  inherited_ = std::move(inherited);
}

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

// Returns what steps of the command inherit: all but what they set.
const WorkerPool::Inherited& StepRequestBuilder::InheritedBy(std::uint32_t command) {
  const auto& set = defaults_.job.commands[command].environment;
  if (set.empty()) return inherited_;
  if (inherited_by_last_ == nullptr || command != last_command_) {
    auto inherited = std::make_shared<InheritedEnvironment>(*inherited_);
    for (const auto& [name, value] : set) RemoveVariable(inherited->variables, name);
    inherited_by_last_ = std::move(inherited);
    last_command_ = command;
  }
  return inherited_by_last_;
}

// Sizes thread pools to the step's share of the cores, unless the user has set them.
StepRequestBuilder::SlotThreads StepRequestBuilder::MakeThreads(std::uint32_t command,
                                                                std::size_t slot, unsigned workers,
                                                                const StepRequest& request) const {
  const Command& what = defaults_.job.commands[command];
  ThreadRequest threads;
  threads.workers = workers;
  threads.share = what.claim.cpus.value_or(defaults_.cores / std::max(1u, workers));
  threads.slot = static_cast<unsigned>(slot) + 1;
  threads.topology = topology_;
  threads.gpu = LaneOf(what) == Lane::kGpu;
  auto made = MakeThreadEnvironment(threads, [&](const char* name) {
    auto own = ValueOf(request.start.environment, name);
    return own ? own : ValueOf(request.inherited->variables, name);
  });
  SlotThreads result{
      .command = command, .workers = workers, .variables = {}, .processors = std::move(made.cores)};
  for (const auto& setting : made.settings) {
    result.variables.push_back(setting.name + "=" + setting.value);
  }
  return result;
}

void StepRequestBuilder::AddThreadSettings(std::uint32_t command, std::size_t slot,
                                           unsigned workers, StepRequest& request) {
  if (slot >= threads_.size()) threads_.resize(slot + 1);
  SlotThreads& threads = threads_[slot];
  // Variables of the command may differ from step to step.
  const bool is_same = threads.workers != 0 && threads.command == command &&
                       threads.workers == workers &&
                       defaults_.job.commands[command].environment.empty();
  if (!is_same) threads = MakeThreads(command, slot, workers, request);
  auto& environment = request.start.environment;
  environment.insert(environment.end(), threads.variables.begin(), threads.variables.end());
  request.start.processors = threads.processors;
}

Status StepRequestBuilder::PrepareOutputs(const std::filesystem::path& path,
                                          const ActiveAttempt& active, StartRequest& request) {
  const std::filesystem::path folder = path.parent_path();
  auto known = folders_.find(folder);
  if (known == folders_.end()) {
    std::error_code error;
    const bool made = std::filesystem::create_directories(folder, error);
    if (error) {
      return Fail(Error::Code::kPermission,
                  "cannot create the output folder {}: {}; check free space and permissions",
                  folder.string(), error.message());
    }
    known = folders_.emplace(folder, made).first;
  }
  if (!space_.HasRoom(folder, active.began.count())) {
    return Fail(Error::Code::kExhausted, "the disk of {} is full; steps start when it has room",
                folder.string());
  }
  const std::uint32_t attempt = active.name.attempt;
  if (attempt > 1) RETURN_IF_ERROR(KeepOutputs(path, attempt - 1));
  // In a folder of this run there are only outputs of its steps, and KeepOutputs() moves those.
  request.outputs_are_new = attempt > 1 || known->second;
  request.output = path.string() + ".out";
  request.errors = path.string() + ".err";
  return {};
}

Result<StepRequest> StepRequestBuilder::Build(const std::string& files, std::size_t slot,
                                              unsigned workers, Journal& journal,
                                              ActiveAttempt& active) {
  const Step& step = defaults_.job.steps[active.step];
  const Command& command = defaults_.job.commands[step.command];
  BuiltIns built_ins{slot + 1, NumberOf(defaults_.job, active.step), 1, 1};
  StepRequest built{.start = {}, .inherited = InheritedBy(step.command)};
  StartRequest& request = built.start;
  if (command.cycles) {
    ASSIGN_OR_RETURN(const auto first,
                     journal.FirstMissingCycle(active.name.identity, command.cycles->count));
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
  request.label = active.label;
  if (LaneOf(command) == Lane::kGpu) request.arguments = defaults_.gpu_prefix;
  std::ranges::move(expanded.arguments, std::back_inserter(request.arguments));
  auto& environment = request.environment;
  for (const auto& [name, value] : expanded.environment) SetVariable(environment, name, value);
  SetVariable(environment, kJobName, defaults_.job.name);
  SetVariable(environment, kStep, std::to_string(built_ins.step));
  SetVariable(environment, kSlot, std::to_string(built_ins.slot));
  SetVariable(environment, kAttempt, std::to_string(active.name.attempt));
  AddThreadSettings(step.command, slot, workers, built);
  // A value set by the user may name other GPUs or a MIG instance, and is kept.
  if (active.gpu && !ValueOf(environment, kVisibleDevices) &&
      !ValueOf(built.inherited->variables, kVisibleDevices)) {
    SetVariable(environment, kVisibleDevices, nvml::FormatUuid(*active.gpu));
  }
  request.folder = expanded.folder;
  RETURN_IF_ERROR(PrepareOutputs(defaults_.outputs / files, active, request));
  if (command.time_limit) request.time_limit = command.time_limit->count();
  request.grace = kGrace;
  return built;
}

}  // namespace reveza::jobs
