#include "reveza/jobs/engine/runner.h"

#include <signal.h>
#include <sys/signalfd.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "reveza/jobs/engine/added_steps.h"
#include "reveza/jobs/engine/engine.h"

namespace reveza::jobs {

Result<UniqueFd> OpenRunnerSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd file(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!file) return Fail(Error::Code::kExhausted, "signalfd: no file descriptor left");
  return file;
}

Result<StepList> TakeList(EngineParts& parts) {
  StepList list = std::exchange(parts.list, {});
  if (list.empty()) {
    ASSIGN_OR_RETURN(list, StepList::Read(parts.journal));
  }
  // The list may be longer, by steps that were added since it was compared.
  const std::size_t steps = parts.job->steps.size();
  if (list.size() < steps) {
    return Fail(Error::Code::kInternal, "the journal lists other steps than the job has");
  }
  list.Truncate(steps);
  return list;
}

Status RestoreStep(const RunRequest& request, const StepStatus& status, std::uint32_t step,
                   Journal& journal, Schedule& schedule, RetryPolicy& retries) {
  switch (status.state) {
    case StepState::kWaiting:
      return {};
    case StepState::kDone:
      schedule.Start(step);
      schedule.Finish(step);
      return {};
    case StepState::kFailed:
      if (request.retry_failed) return {};
      schedule.Start(step);
      schedule.Fail(step);
      return {};
    case StepState::kUndecided:
      if (request.retries > 0 || request.retry_failed) {
        retries.AddEarlierFailure(step);
        return {};
      }
      schedule.Start(step);
      schedule.Fail(step);
      return journal.MarkFailed(status.identity);
    case StepState::kUnknown:
      if (request.on_unknown == OnUnknown::kRetry) return {};
      schedule.Start(step);
      schedule.Hold(step);
      return {};
  }
  return {};
}

Result<std::uint64_t> AppendListedSteps(EngineParts& parts, StepList& list) {
  Job& job = *parts.job;
  const std::size_t steps = job.steps.size();
  const std::size_t commands = job.commands.size();
  const auto roll_back = [&](const Error& error) -> std::unexpected<Error> {
    job.steps.resize(steps);
    job.commands.resize(commands);
    parts.identities.resize(steps);
    list.Truncate(steps);
    return std::unexpected(error);
  };
  const auto merged = MergeAddedSteps(parts.journal, job, parts.identities);
  if (!merged) return roll_back(merged.error());
  if (*merged == 0) return 0;
  auto expander = Expander::Make(job);
  if (!expander) return roll_back(expander.error());
  const auto listed = ListSteps(job, parts.identities, steps);
  // They are listed already, unless their identities are computed differently here.
  if (auto appended = parts.journal.Append(listed); !appended) return roll_back(appended.error());
  for (const auto& step : listed) {
    const auto entry = parts.journal.Find(step.identity);
    if (!entry) return roll_back(entry.error());
    if (!*entry) return roll_back({Error::Code::kInternal, "an added step is not listed"});
    list.Add(**entry);
  }
  *parts.expander = *std::move(expander);
  return merged;
}

Result<std::set<std::uint32_t>> StepsToRetry(const nlohmann::json& steps,
                                             const Schedule& schedule) {
  std::set<std::uint32_t> chosen;
  const auto choose = [&](std::uint32_t step) {
    const auto state = schedule.state(step);
    if (state == Schedule::State::kFailed || state == Schedule::State::kHeld) chosen.insert(step);
  };
  if (!steps.is_array()) {
    for (std::uint32_t step = 0; step < schedule.size(); ++step) choose(step);
    return chosen;
  }
  for (const auto& step : steps) {
    if (!step.is_number_unsigned() || step.get<std::uint64_t>() - 1 >= schedule.size()) {
      return InvalidArgument("no step {}; valid: 1 to {}", step.dump(), schedule.size());
    }
    choose(static_cast<std::uint32_t>(step.get<std::uint64_t>() - 1));
  }
  return chosen;
}

RunEnd EndOf(const Schedule::Counts& counts, RunEnd early) {
  if (counts.ready + counts.blocked + counts.running > 0) return early;
  if (counts.failed + counts.skipped > 0) return RunEnd::kFailed;
  return counts.held > 0 ? RunEnd::kHeld : RunEnd::kDone;
}

void RecordEnd(const Schedule::Counts& counts, RunEnd end, RunRecord& record) {
  record.end = end;
  record.ended = WallNow();
  record.skipped = counts.skipped;
  record.waiting = counts.ready + counts.blocked + counts.running;
}

}  // namespace reveza::jobs
