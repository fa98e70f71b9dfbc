// Which steps start, and with what.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "platform/host_memory.h"
#include "runner/definition/gpu_use.h"
#include "runner/engine/engine.h"
#include "runner/journal/journal_format.h"

namespace reveza::runner {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kGrace = 10'000'000'000;  // ns between SIGTERM and SIGKILL
constexpr const char* kVisibleDevices = "CUDA_VISIBLE_DEVICES";
constexpr const char* kDeviceOrder = "CUDA_DEVICE_ORDER";
constexpr auto kPauseAfterFailure = 500ms;  // when a supervisor could not be started

std::optional<std::string> ValueOf(const std::vector<std::string>& environment,
                                   const std::string& name) {
  const std::string begin = name + "=";
  for (const auto& one : environment) {
    if (one.starts_with(begin)) return one.substr(begin.size());
  }
  return std::nullopt;
}

// A later one of the same name takes the place of the one before.
void SetVariable(std::vector<std::string>& environment, const std::string& name,
                 const std::string& value) {
  const std::string begin = name + "=";
  std::erase_if(environment, [&](const std::string& one) { return one.starts_with(begin); });
  environment.push_back(begin + value);
}

}  // namespace

std::filesystem::path Engine::Outputs() const {
  const auto& folder = parts_.request.output_folder;
  return folder.empty() ? parts_.folder.outputs() : folder;
}

std::vector<Admitted> Engine::Running() const {
  std::vector<Admitted> running;
  for (const auto& slot : pool_.slots()) {
    if (!slot.active) continue;
    const auto& active = *slot.active;
    running.push_back({active.step, active.need, active.began, active.memory, active.gpu_memory,
                       active.gpu, active.paused, active.holds_gpu});
  }
  return running;
}

Governor::Counts Engine::RunningByLane() const {
  Governor::Counts running{};
  const auto count = [&](std::uint32_t step) {
    ++running[static_cast<std::size_t>(LaneOf(job_.commands[job_.steps[step].command]))];
  };
  for (const auto& slot : pool_.slots()) {
    if (slot.active) count(slot.active->step);
  }
  for (const auto& live : live_) {
    const auto known = by_identity_.find(std::string(AsText(live.name.identity)));
    if (known != by_identity_.end()) count(known->second);
  }
  return running;
}

std::array<std::uint64_t, kLanes> Engine::WaitingByLane() const {
  return {schedule_.waiting(Lane::kCpu), schedule_.waiting(Lane::kGpu)};
}

// As the step will find it: in the environment of all, or what its command sets in addition.
std::optional<DeviceNames> Engine::DevicesOf(std::uint32_t step) {
  std::optional<std::string> visible = ValueOf(parts_.environment, kVisibleDevices);
  std::optional<std::string> order = ValueOf(parts_.environment, kDeviceOrder);
  const Step& what = job_.steps[step];
  const auto names_devices = [](const auto& one) {
    return one.first == kVisibleDevices || one.first == kDeviceOrder;
  };
  if (std::ranges::any_of(job_.commands[what.command].environment, names_devices)) {
    const auto expanded = parts_.expander->Expand(what, {pool_.FreeSlot() + 1, step + 1, 1, 1});
    if (!expanded) return std::nullopt;
    for (const auto& [name, value] : expanded->environment) {
      if (name == kVisibleDevices) visible = value;
      if (name == kDeviceOrder) order = value;
    }
  }
  if (!visible) return std::nullopt;
  return DeviceNames{*visible, order.value_or("")};
}

void Engine::Fill() {
  waiting_reason_.clear();
  if (mode_ == Mode::kPaused) waiting_reason_ = PausedText();
  if (mode_ != Mode::kRunning) return;
  if (trouble_) {
    waiting_reason_ = trouble_->message;
    return;
  }
  if (Now() < no_start_before_) waiting_reason_ = said_not_started_;
  while (Now() >= no_start_before_ && StartNext()) {
  }
}

bool Engine::StartNext() {
  constexpr std::size_t kMostLookedAt = 32;
  const auto may = governor_.Room(RunningByLane());
  if (!may[0] && !may[1]) return false;
  const auto queue = schedule_.Ready(kMostLookedAt, may);
  if (queue.empty()) return false;
  const auto running = Running();
  const auto choice = governor_.Next(Now(), queue, running, may);
  for (const auto& doubt : governor_.TakeDoubts()) observer_.OnNote(doubt);
  if (!choice.index) {
    waiting_reason_ = choice.verdict.reason;
    return false;
  }
  const auto step = queue[*choice.index];
  if (choice.verdict.kind == Verdict::Kind::kNever) {
    Reject(step, choice.verdict.reason);
    return true;
  }
  const Need need = governor_.NeedOf(step, running);
  if (auto started = Start(step, need, choice.verdict.gpu); !started) {
    waiting_reason_ = started.error().message;
    // It is tried again and again, and said once.
    if (std::exchange(said_not_started_, waiting_reason_) != waiting_reason_) {
      observer_.OnNote(waiting_reason_);
    }
    no_start_before_ = Now() + kPauseAfterFailure;
    return false;
  }
  governor_.Pass(Now(), WaitingByLane(), Running());
  return true;
}

// What never fits here would wait for ever.
void Engine::Reject(std::uint32_t step, const std::string& reason) {
  observer_.OnNote(fmt::format("step {} never runs here: {}", entries_[step].label, reason));
  schedule_.Start(step);
  schedule_.Fail(step);
  CheckHalt();
}

void Engine::Relieve() {
  const auto action = governor_.Relieve(Now(), Running(), mode_ == Mode::kPaused);
  if (!action) return;
  for (std::size_t slot = 0; slot < pool_.slots().size(); ++slot) {
    auto& active = pool_.slots()[slot].active;
    if (!active || active->step != action->step) continue;
    observer_.OnNote(fmt::format("step {}: {}", active->label, action->reason));
    switch (action->kind) {
      case PressureAction::Kind::kPause:
        active->paused = true;
        return pool_.Tell(slot, FrameKind::kPause);
      case PressureAction::Kind::kResume:
        active->paused = false;
        return pool_.Tell(slot, FrameKind::kContinue);
      case PressureAction::Kind::kEnd:
        active->ending = true;
        active->ended_for_memory = true;
        return pool_.Tell(slot, FrameKind::kEnd);
    }
  }
}

// As large as its share of the cores, for those variables that nobody has set.
void Engine::AddThreadSettings(const Command& command, std::size_t slot,
                               StartRequest& request) const {
  ThreadRequest wish;
  wish.workers = governor_.Workers();
  wish.share = command.claim.cpus.value_or(parts_.cores / std::max(1u, wish.workers));
  wish.slot = static_cast<unsigned>(slot) + 1;
  wish.topology = topology_;
  wish.gpu = LaneOf(command) == Lane::kGpu;
  const auto& environment = request.environment;
  const auto find = [&](const char* name) { return ValueOf(environment, name); };
  auto made = MakeThreadEnvironment(wish, find);
  for (const auto& setting : made.settings) {
    request.environment.push_back(setting.name + "=" + setting.value);
  }
  request.processors = std::move(made.cores);
}

Status Engine::MakeOutputFolder(const std::filesystem::path& folder) {
  if (folders_.contains(folder)) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return Fail(Error::Code::kPermission,
                fmt::format("cannot make {}, where steps print to: {}; is there room, and may "
                            "folders be made there?",
                            folder.string(), error.message()));
  }
  folders_.insert(folder);
  return {};
}

Result<StartRequest> Engine::RequestFor(std::uint32_t step, std::size_t slot, Active& active) {
  const Step& what = job_.steps[step];
  const Command& command = job_.commands[what.command];
  const StepEntry& entry = entries_[step];
  BuiltIns built_ins{slot + 1, step + 1, 1, 1};
  StartRequest request;
  if (command.cycles) {
    const auto first = parts_.journal.FirstMissingCycle(entry.identity, command.cycles->count);
    if (!first) return std::unexpected(first.error());
    built_ins.from = std::min(*first, command.cycles->count);
    built_ins.to = command.cycles->count;
    if (command.cycles->chain > 0) {
      built_ins.to = std::min(built_ins.to, built_ins.from + command.cycles->chain - 1);
    }
    request.cycles = command.cycles->count;
    active.first_cycle = built_ins.from;
  }
  auto expanded = parts_.expander->Expand(what, built_ins);
  if (!expanded) return std::unexpected(expanded.error());
  request.name = active.name;
  request.label = entry.label;
  if (LaneOf(command) == Lane::kGpu) request.arguments = parts_.gpu_prefix;
  request.arguments.insert(request.arguments.end(), expanded->arguments.begin(),
                           expanded->arguments.end());
  request.environment = parts_.environment;
  for (const auto& [name, value] : expanded->environment) {
    SetVariable(request.environment, name, value);
  }
  AddThreadSettings(command, slot, request);
  // What somebody has set may name others, or a MIG instance, and is never replaced.
  if (active.gpu && !ValueOf(request.environment, kVisibleDevices)) {
    SetVariable(request.environment, kVisibleDevices, platform::FormatUuid(*active.gpu));
  }
  request.folder = expanded->folder;
  const auto files = Outputs() / entry.files;
  if (auto made = MakeOutputFolder(files.parent_path()); !made) {
    return std::unexpected(made.error());
  }
  request.output = files.string() + ".out";
  request.errors = files.string() + ".err";
  if (command.time_limit) request.time_limit = command.time_limit->count();
  request.grace = kGrace;
  return request;
}

// Of both: whoever is refused memory there may be refused it because of the other.
void Engine::NoteNeighboursOnGpu(Active& active) {
  if (LaneOf(job_.commands[job_.steps[active.step].command]) != Lane::kGpu) return;
  active.gpu_beside_others = RunningByLane()[static_cast<std::size_t>(Lane::kGpu)] > 0;
  for (auto& slot : pool_.slots()) {
    if (slot.active) slot.active->gpu_beside_others = true;
  }
}

Status Engine::Start(std::uint32_t step, const Need& need,
                     const std::optional<platform::Uuid>& gpu) {
  StepEntry& entry = entries_[step];
  Active active;
  active.step = step;
  active.name = {entry.identity, entry.attempts + 1};
  active.label = entry.label;
  active.began = Now();
  active.since = std::chrono::system_clock::now().time_since_epoch().count();
  active.need = need;
  active.kills_before = platform::OutOfMemoryKills(parts_.root);
  active.gpu = gpu;
  active.holds_gpu = MayHoldGpu(job_.commands[job_.steps[step].command]);
  const std::size_t slot = pool_.FreeSlot();
  auto request = RequestFor(step, slot, active);
  if (!request) return std::unexpected(request.error());
  const auto command = job_.steps[step].command;
  NoteNeighboursOnGpu(active);
  limits_.Apply(need, brief_.contains(command), IsLastTurn(step), active, *request);
  if (auto started = pool_.Start(slot, *request, std::move(active)); !started) return started;
  schedule_.Start(step);
  ++entry.attempts;
  ++summary_.attempts;
  observer_.OnStart(ReportOf(step, entry.attempts));
  return {};
}

}  // namespace reveza::runner
