// Starting steps, and what is done when they end.
#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "runner/engine.h"
#include "runner/verify_outputs.h"

namespace reveza::runner {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kGrace = 10'000'000'000;  // ns between SIGTERM and SIGKILL
constexpr auto kPauseAfterFailure = 500ms;       // when a supervisor could not be started

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

unsigned Engine::Wanted() const {
  const auto& request = parts_.request;
  unsigned wanted = request.workers.value_or(std::max(1u, std::thread::hardware_concurrency()));
  if (request.max_workers) wanted = std::min(wanted, *request.max_workers);
  return std::max(1u, wanted);
}

void Engine::Fill() {
  waiting_reason_.clear();
  if (mode_ != Mode::kRunning) return;
  if (trouble_) {
    waiting_reason_ = trouble_->message;
    return;
  }
  while (pool_.active() + live_.size() < Wanted() && Now() >= no_start_before_) {
    const auto step = schedule_.Next();
    if (!step) return;
    if (auto started = Start(*step); !started) {
      observer_.OnNote(started.error().message);
      no_start_before_ = Now() + kPauseAfterFailure;
      return;
    }
  }
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
  request.arguments = std::move(expanded->arguments);
  request.environment = parts_.environment;
  for (const auto& [name, value] : expanded->environment) {
    SetVariable(request.environment, name, value);
  }
  request.folder = expanded->folder;
  const auto outputs =
      parts_.request.output_folder.empty() ? parts_.folder.outputs() : parts_.request.output_folder;
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

Status Engine::Start(std::uint32_t step) {
  StepEntry& entry = entries_[step];
  Active active;
  active.step = step;
  active.name = {entry.identity, entry.attempts + 1};
  active.label = entry.label;
  active.began = Now();
  active.since = std::chrono::system_clock::now().time_since_epoch().count();
  active.claim = job_.commands[job_.steps[step].command].claim.memory;
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

void Engine::OnResult(std::size_t slot, const AttemptResult& result) {
  const Active active = *pool_.slots()[slot].active;
  if (result.name != active.name) return;
  pool_.Clear(slot);
  AttemptExtra extra;
  extra.boot = ReadBootId();
  extra.peak = std::max(active.peak.value_or(0), Bytes{result.largest_resident});
  const auto outputs =
      parts_.request.output_folder.empty() ? parts_.folder.outputs() : parts_.request.output_folder;
  extra.output_hash = HashOfOutput((Outputs() / entries_[active.step].files).string() + ".out",
                                   result.output_bytes);
  const auto noted = parts_.journal.Note(result, extra);
  if (!noted) BeInTrouble(noted.error());
  ++ended_here_;
  const bool again = Settle(active.step, result, active.first_cycle);
  observer_.OnEnd(ReportOf(active.step, result.name.attempt), result, again, "");
}

bool Engine::TryAgain(std::uint32_t step, const AttemptResult& result, std::uint64_t first_cycle) {
  const auto& cycles = job_.commands[job_.steps[step].command].cycles;
  if (cycles) {
    const auto first = parts_.journal.FirstMissingCycle(entries_[step].identity, cycles->count);
    // Whoever got further may go on, however often it dies.
    if (first && *first > first_cycle && *first <= cycles->count) return true;
  }
  if (result.outcome == Outcome::kCancelled) return true;
  return failures_[step]++ < parts_.request.retries;
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
