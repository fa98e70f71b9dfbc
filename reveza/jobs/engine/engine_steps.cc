// Starting steps.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/units.h"
#include "common/platform/cgroup.h"
#include "common/platform/machine.h"
#include "common/platform/process_table.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/journal/journal_format.h"

namespace reveza::jobs {
namespace {

using namespace std::chrono_literals;

constexpr auto kSampleInterval = 1s;
// While a step waits for memory.
constexpr auto kMemoryInterval = 20ms;

std::chrono::duration<double> TimeOfTicks(std::uint64_t ticks) {
  return std::chrono::duration<double>(static_cast<double>(ticks) /
                                       static_cast<double>(platform::TicksPerSecond()));
}

// Returns the memory of a step: of its cgroup, else of its process tree.
std::optional<Bytes> MemoryOf(const ActiveAttempt& active, platform::ProcessReader& reader) {
  if (!active.group.empty()) {
    if (const auto memory = platform::ReadProgramMemory(active.group, active.group_version)) {
      return memory;
    }
  }
  return reader.SumProgram(reader.Descendants(active.pid));
}

}  // namespace

std::filesystem::path Engine::Outputs() const {
  const auto& folder = parts_.request.output_folder;
  return folder.empty() ? parts_.folder.outputs() : folder;
}

StepReport Engine::ReportOf(std::uint32_t step, std::uint32_t attempt) const {
  return {step, LabelOf(job_, step), attempt, list_.FilesOf(step)};
}

std::optional<std::uint32_t> Engine::StepOf(const Identity& identity) const {
  return list_.Find(identity);
}

std::vector<RunningStep> Engine::Running() const {
  std::vector<RunningStep> running;
  for (const auto& slot : pool_.slots()) {
    if (!slot.active) continue;
    const auto& active = *slot.active;
    running.push_back({active.step, active.need, active.began, active.memory, active.gpu_memory,
                       active.gpu, active.paused, active.holds_gpu, active.cpu});
  }
  return running;
}

Governor::Counts Engine::RunningByLane() const {
  Governor::Counts running{};
  const auto count = [&](std::uint32_t step) {
    ++running[static_cast<std::size_t>(LaneOf(CommandOf(step)))];
  };
  for (const auto& slot : pool_.slots()) {
    if (slot.active) count(slot.active->step);
  }
  for (const auto& adopted : adopted_.all()) {
    if (const auto step = StepOf(adopted.name.identity)) count(*step);
  }
  return running;
}

std::array<std::uint64_t, kLanes> Engine::WaitingByLane() const {
  return {schedule_.waiting(Lane::kCpu), schedule_.waiting(Lane::kGpu)};
}

void Engine::StartReadySteps() {
  waiting_reason_.clear();
  waits_for_memory_ = false;
  if (mode_ == Mode::kPaused) waiting_reason_ = PausedText();
  if (mode_ != Mode::kRunning) return;
  if (const auto& error = committer_.error()) {
    waiting_reason_ = error->message;
    return;
  }
  if (!backoff_.MayStart(Now())) waiting_reason_ = backoff_.reason();
  while (backoff_.MayStart(Now()) && StartNext()) {
  }
}

bool Engine::StartNext() {
  constexpr std::size_t kMaxCandidates = 32;
  const auto lanes = governor_.LanesWithRoom(RunningByLane());
  if (!lanes[0] && !lanes[1]) return false;
  const auto queue = schedule_.Ready(kMaxCandidates, lanes);
  if (queue.empty()) return false;
  auto running = Running();
  auto choice = governor_.Next(Now(), queue, running, lanes);
  if (!choice.index && choice.verdict.for_memory && RefreshMemory()) {
    running = Running();
    choice = governor_.Next(Now(), queue, running, lanes);
  }
  waits_for_memory_ = !choice.index && choice.verdict.for_memory;
  for (const auto& warning : governor_.TakeWarnings()) observer_.OnNote(warning);
  if (!choice.index) {
    waiting_reason_ = choice.verdict.reason;
    return false;
  }
  const auto step = queue[*choice.index];
  if (choice.verdict.kind == Verdict::Kind::kReject) {
    Reject(step, choice.verdict.reason);
    return true;
  }
  const Need need = governor_.NeedOf(step, running);
  if (auto started = Start(step, need, choice.verdict.gpu); !started) {
    waiting_reason_ = started.error().message;
    if (backoff_.SetReason(waiting_reason_)) observer_.OnNote(waiting_reason_);
    backoff_.Delay(Now());
    return false;
  }
  governor_.Update(Now(), WaitingByLane(), Running());
  return true;
}

// Reads what memory is free, and how much of it the steps have, which Sample() does not know of
// brief ones: until it is known, all of a claim counts as not allocated yet. Returns false if it
// was read a moment ago.
bool Engine::RefreshMemory() {
  if (Now() < next_memory_read_) return false;
  next_memory_read_ = Now() + kMemoryInterval;
  platform::ProcessReader reader;
  for (auto& slot : pool_.slots()) {
    if (!slot.active || slot.active->pid == 0) continue;
    ActiveAttempt& active = *slot.active;
    const auto memory = MemoryOf(active, reader);
    if (!memory) continue;
    active.memory = memory;
    active.peak = std::max(active.peak.value_or(0), *memory);
  }
  governor_.ReadMemory(Now());
  return true;
}

// Fails a step that would wait for ever.
void Engine::Reject(std::uint32_t step, const std::string& reason) {
  observer_.OnNote(fmt::format("step {} never runs here: {}", LabelOf(job_, step), reason));
  schedule_.Start(step);
  schedule_.Fail(step);
  CheckHalt();
}

// Marks both sides: either may run out of GPU memory because of the other.
void Engine::MarkGpuSharing(ActiveAttempt& active) {
  if (LaneOf(CommandOf(active.step)) != Lane::kGpu) return;
  active.gpu_shared = RunningByLane()[static_cast<std::size_t>(Lane::kGpu)] > 0;
  for (auto& slot : pool_.slots()) {
    if (slot.active) slot.active->gpu_shared = true;
  }
}

// A declared claim stays enforced even then.
bool Engine::IsLastMemoryRetry(std::uint32_t step) const {
  const Command& command = CommandOf(step);
  const bool declared = command.claim.memory || !command.memory_template.empty();
  return retries_.IsLastMemoryRetry(step) && !declared;
}

Status Engine::Start(std::uint32_t step, const Need& need, const std::optional<nvml::Uuid>& gpu) {
  StepStatus& status = list_[step];
  ActiveAttempt active;
  active.step = step;
  active.name = {status.identity, status.attempts + 1};
  active.label = LabelOf(job_, step);
  active.began = Now();
  active.since = WallNow();
  active.need = need;
  active.kills_before = OutOfMemoryKills();
  active.gpu = gpu;
  active.holds_gpu = MayHoldGpu(CommandOf(step));
  const std::size_t slot = pool_.FreeSlot();
  ASSIGN_OR_RETURN(auto request,
                   requests_.Build(list_.FilesOf(step), slot, governor_.WorkersThatShareCores(),
                                   parts_.journal, active));
  MarkGpuSharing(active);
  limits_.Apply(need, brief_commands_.contains(job_.steps[step].command), IsLastMemoryRetry(step),
                active, request.start);
  RETURN_IF_ERROR(pool_.Start(slot, request.start, request.inherited, std::move(active)));
  schedule_.Start(step);
  ++status.attempts;
  if (++summary_.attempts == 1) SaveRunRecord();
  observer_.OnStart(ReportOf(step, status.attempts));
  return {};
}

std::optional<std::uint64_t> Engine::OutOfMemoryKills() {
  constexpr auto kMaxAge = std::chrono::seconds(1);
  if (kills_read_ && Now() - *kills_read_ < kMaxAge) return kills_;
  kills_read_ = Now();
  kills_ = platform::OutOfMemoryKills(parts_.root);
  return kills_;
}

void Engine::SampleUsage() {
  const auto interval = governor_.UsageInterval();
  if (interval == Nanoseconds::max() || Now() < next_usage_sample_) return;
  next_usage_sample_ = Now() + interval;
  platform::ProcessReader reader;
  for (auto& slot : pool_.slots()) {
    if (!slot.active) continue;
    const std::chrono::duration<double> cpu =
        slot.active->pid == 0 ? std::chrono::duration<double>(0)
                              : TimeOfTicks(reader.SumTicks(reader.Descendants(slot.active->pid)));
    slot.active->cpu = std::chrono::duration_cast<Nanoseconds>(cpu);
  }
  governor_.ObserveUsage(Now(), Running());
  governor_.Update(Now(), WaitingByLane(), Running());
}

void Engine::Sample() {
  if (Now() < next_sample_) return;
  next_sample_ = Now() + kSampleInterval;
  platform::ProcessReader reader;
  std::uint64_t ticks = 0;  // CPU time of running steps
  for (std::size_t slot = 0; slot < pool_.slots().size(); ++slot) {
    auto& active = pool_.slots()[slot].active;
    // Shorter steps are known by the rusage that their supervisor reports.
    if (!active || active->pid == 0 || Now() - active->began < kSampleInterval) continue;
    const auto family = reader.Descendants(active->pid);
    ticks += reader.SumTicks(family);
    active->gpu_memory = governor_.GpuMemoryOfProcesses(family);
    if (active->gpu_memory) {
      active->gpu_peak = std::max(active->gpu_peak.value_or(0), *active->gpu_memory);
    }
    active->evidence.Sample(family);
    const auto memory = MemoryOf(*active, reader);
    if (!memory) continue;
    active->memory = memory;
    active->peak = std::max(active->peak.value_or(0), *memory);
    governor_.ObserveUsage(active->step, *active->peak, active->gpu_peak);
    EnforceLimit(slot);
  }
  governor_.ObserveCpuTime(
      Now(), cpu_of_ended_ + std::chrono::duration_cast<Nanoseconds>(TimeOfTicks(ticks)));
  RelievePressure();
}

// Applies where the kernel does not: to brief steps, which have no group, and if a group could not
// be created.
void Engine::EnforceLimit(std::size_t slot) {
  ActiveAttempt& active = *pool_.slots()[slot].active;
  const bool by_kernel = limits_.by() == Limits::kSystemd || !active.group.empty();
  if (by_kernel || active.ending || !active.limit) return;
  if (active.memory.value_or(0) <= *active.limit) return;
  observer_.OnNote(fmt::format("terminating step {}: {} of memory exceed its limit of {}",
                               active.label, FormatBytes(*active.memory),
                               FormatBytes(*active.limit)));
  active.ending = true;
  active.terminated_for_memory = true;
  active.exceeded_limit = true;
  pool_.Send(slot, FrameKind::kEnd);
}

void Engine::RelievePressure() {
  const auto action = governor_.RelievePressure(Now(), Running(), mode_ == Mode::kPaused);
  if (!action) return;
  for (std::size_t slot = 0; slot < pool_.slots().size(); ++slot) {
    auto& active = pool_.slots()[slot].active;
    if (!active || active->step != action->step) continue;
    switch (action->kind) {
      case PressureAction::Kind::kPause:
        observer_.OnNote(fmt::format("pausing step {}: {}", active->label, action->reason));
        active->paused = true;
        return pool_.Send(slot, FrameKind::kPause);
      case PressureAction::Kind::kResume:
        observer_.OnNote(fmt::format("resuming step {}: {}", active->label, action->reason));
        active->paused = false;
        return pool_.Send(slot, FrameKind::kContinue);
      case PressureAction::Kind::kTerminate:
        observer_.OnNote(fmt::format("terminating step {}: {}", active->label, action->reason));
        active->ending = true;
        active->terminated_for_memory = true;
        return pool_.Send(slot, FrameKind::kEnd);
    }
  }
}

}  // namespace reveza::jobs
