// Starting steps, and what is done when they end.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

#include "doctor/death.h"
#include "platform/host_memory.h"
#include "runner/engine.h"
#include "runner/verify_outputs.h"

namespace reveza::runner {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kGrace = 10'000'000'000;  // ns between SIGTERM and SIGKILL
constexpr int kStatusOfAborts = 127;             // of the GNU C library, when it gives a program up
constexpr auto kPauseAfterFailure = 500ms;       // when a supervisor could not be started

// A later one of the same name takes the place of the one before.
void SetVariable(std::vector<std::string>& environment, const std::string& name,
                 const std::string& value) {
  const std::string begin = name + "=";
  std::erase_if(environment, [&](const std::string& one) { return one.starts_with(begin); });
  environment.push_back(begin + value);
}

// What a program said before it ended.
std::string LastLines(const std::string& path) {
  constexpr std::streamoff kMost = 4096;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  file.seekg(std::max<std::streamoff>(0, file.tellg() - std::streamoff{kMost}));
  return {std::istreambuf_iterator<char>(file), {}};
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
    running.push_back({active.step, active.need, active.began, active.memory, std::nullopt,
                       active.gpu, active.paused});
  }
  return running;
}

void Engine::Fill() {
  waiting_reason_.clear();
  if (mode_ != Mode::kRunning) return;
  if (trouble_) {
    waiting_reason_ = trouble_->message;
    return;
  }
  while (pool_.active() + live_.size() < governor_.Workers() && Now() >= no_start_before_) {
    if (!StartNext()) return;
  }
}

bool Engine::StartNext() {
  constexpr std::size_t kMostLookedAt = 32;
  const auto queue = schedule_.Ready(kMostLookedAt);
  if (queue.empty()) return false;
  const auto running = Running();
  const auto choice = governor_.Next(Now(), queue, running);
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
    observer_.OnNote(started.error().message);
    no_start_before_ = Now() + kPauseAfterFailure;
    return false;
  }
  governor_.Pass(Now(), schedule_.counts().ready + schedule_.counts().blocked, Running());
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
  const auto action = governor_.Relieve(Now(), Running());
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
  wish.gpu = command.claim.gpu_memory.value_or(0) > 0;
  const auto& environment = request.environment;
  const auto find = [&](const char* name) -> std::optional<std::string> {
    const std::string begin = std::string(name) + "=";
    for (const auto& one : environment) {
      if (one.starts_with(begin)) return one.substr(begin.size());
    }
    return std::nullopt;
  };
  auto made = MakeThreadEnvironment(wish, find);
  for (const auto& setting : made.settings) {
    request.environment.push_back(setting.name + "=" + setting.value);
  }
  request.processors = std::move(made.cores);
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
  if (command.claim.gpu_memory.value_or(0) > 0) request.arguments = parts_.gpu_prefix;
  request.arguments.insert(request.arguments.end(), expanded->arguments.begin(),
                           expanded->arguments.end());
  request.environment = parts_.environment;
  for (const auto& [name, value] : expanded->environment) {
    SetVariable(request.environment, name, value);
  }
  AddThreadSettings(command, slot, request);
  if (active.gpu)
    SetVariable(request.environment, "CUDA_VISIBLE_DEVICES", platform::FormatUuid(*active.gpu));
  request.folder = expanded->folder;
  const auto files = Outputs() / entry.files;
  if (folders_.insert(files.parent_path().string()).second) {
    std::error_code error;
    std::filesystem::create_directories(files.parent_path(), error);
  }
  request.output = files.string() + ".out";
  request.errors = files.string() + ".err";
  if (command.time_limit) request.time_limit = command.time_limit->count();
  request.grace = kGrace;
  return request;
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
  active.kills_before = platform::OutOfMemoryKills();
  active.gpu = gpu;
  const std::size_t slot = pool_.FreeSlot();
  const auto request = RequestFor(step, slot, active);
  if (!request) return std::unexpected(request.error());
  if (auto started = pool_.Start(slot, *request, std::move(active)); !started) return started;
  schedule_.Start(step);
  ++entry.attempts;
  ++summary_.attempts;
  observer_.OnStart(ReportOf(step, entry.attempts));
  return {};
}

void Engine::OnResult(std::size_t slot, AttemptResult result) {
  const auto& running = pool_.slots()[slot].active;
  if (!running) return;
  const Active active = *running;
  if (result.name != active.name) return;
  pool_.Clear(slot);
  const std::string explanation = Explain(active, result);
  AttemptExtra extra;
  extra.boot = ReadBootId();
  extra.peak = std::max(active.peak.value_or(0), Bytes{result.largest_resident});
  extra.output_hash = HashOfOutput((Outputs() / entries_[active.step].files).string() + ".out",
                                   result.output_bytes);
  const auto noted = parts_.journal.Note(result, extra);
  if (!noted) BeInTrouble(noted.error());
  ++ended_here_;
  governor_.Ended(Now(), active.step, result, active.need, extra.peak.value_or(0));
  const bool again = Settle(active.step, result, active.first_cycle);
  observer_.OnEnd(ReportOf(active.step, result.name.attempt), result, again, explanation);
  governor_.Pass(Now(), schedule_.counts().ready + schedule_.counts().blocked, Running());
}

bool Engine::TryAgain(std::uint32_t step, const AttemptResult& result, std::uint64_t first_cycle) {
  const auto& cycles = job_.commands[job_.steps[step].command].cycles;
  if (cycles) {
    const auto first = parts_.journal.FirstMissingCycle(entries_[step].identity, cycles->count);
    // Whoever got further may go on, however often it dies.
    if (first && *first > first_cycle && *first <= cycles->count) return true;
  }
  if (result.outcome == Outcome::kCancelled) return true;
  // With a larger claim, as often as that may help.
  constexpr std::uint32_t kMostForMemory = 3;
  if (result.outcome == Outcome::kMemory) return memory_deaths_[step]++ < kMostForMemory;
  return failures_[step]++ < parts_.request.retries;
}

// Tells a death for memory from other kills, by what the kernel counted meanwhile, and asks the
// doctor about those that have a name.
std::string Engine::Explain(const Active& active, AttemptResult& result) const {
  if (active.ended_for_memory && result.outcome == Outcome::kCancelled) {
    result.outcome = Outcome::kMemory;
    return "ended to free memory, and to be run again with a larger claim";
  }
  if (result.outcome == Outcome::kFailure && result.code == kStatusOfAborts) {
    doctor::Death death;
    death.command = entries_[active.step].label;
    death.exit_status = result.code;
    death.last_lines = LastLines((Outputs() / entries_[active.step].files).string() + ".err");
    const auto finding = doctor::ExplainDeath(death);
    return finding ? fmt::format("{}; {}", finding->observed, finding->fix) : std::string();
  }
  if (result.outcome != Outcome::kSignal || result.code != SIGKILL || active.ending) return {};
  const auto kills = platform::OutOfMemoryKills();
  if (!kills || !active.kills_before || *kills <= *active.kills_before) return {};
  result.outcome = Outcome::kMemory;
  return "the kernel killed it for memory";
}

bool Engine::Settle(std::uint32_t step, const AttemptResult& result, std::uint64_t first_cycle) {
  if (result.outcome == Outcome::kSuccess) {
    schedule_.Finish(step);
    return false;
  }
  if (result.outcome == Outcome::kUnknown) {
    if (parts_.request.on_unknown == OnUnknown::kRetry) {
      schedule_.Requeue(step);
      return true;
    }
    schedule_.Hold(step);
    return false;
  }
  if (TryAgain(step, result, first_cycle)) {
    if (parts_.journal.Forget(entries_[step].identity)) schedule_.Requeue(step);
    return true;
  }
  if (auto given_up = parts_.journal.GiveUp(entries_[step].identity); !given_up) {
    BeInTrouble(given_up.error());
  }
  schedule_.Fail(step);
  CheckHalt();
  return false;
}

void Engine::CheckHalt() {
  const auto& halt = parts_.request.halt;
  if (halt.how == Halt::How::kNever || mode_ == Mode::kEnding) return;
  const auto failed = schedule_.counts().failed;
  const bool enough = (halt.failures && failed >= *halt.failures) ||
                      (halt.share && static_cast<double>(failed) >=
                                         *halt.share * static_cast<double>(job_.steps.size()));
  if (!enough) return;
  observer_.OnNote(fmt::format("{} steps have failed, so the job is given up", failed));
  if (halt.how == Halt::How::kNow) {
    EndAll();
  } else {
    mode_ = Mode::kDraining;
  }
}

}  // namespace reveza::runner
