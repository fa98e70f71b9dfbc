#include "jobs_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "exit_status.h"
#include "job_arguments.h"
#include "jobs_words.h"
#include "runner/engine/added_steps.h"
#include "runner/engine/control.h"
#include "runner/journal/import_records.h"
#include "runner/journal/journal.h"

namespace reveza::cli {
namespace {

using nlohmann::json;
using runner::StepState;

struct Answered {
  std::uint64_t steps = 0;
  bool runs = false;  // a runner works on it
};

// Of the runner, if one works on the job. One that holds the lock and does not answer is about to
// begin or to end.
Result<std::optional<std::uint64_t>> Ask(const runner::JobFolder& folder, const json& request) {
  constexpr int kMost = 100;
  for (int i = 0; i < kMost; ++i) {
    const auto answer = runner::AskRunner(folder.id(), request);
    if (answer && answer->contains("error")) {
      return Fail(Error::Code::kUnavailable, (*answer)["error"].get<std::string>());
    }
    if (answer) return answer->value("steps", std::uint64_t{0});
    // It may have heard and not answered: asked again it would do it twice.
    if (answer.error().code != Error::Code::kUnavailable) return std::unexpected(answer.error());
    const auto locked = folder.IsLocked();
    if (!locked) return std::unexpected(locked.error());
    if (!*locked) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return Fail(Error::Code::kUnavailable,
              fmt::format("the runner of job {} does not answer; try again", folder.id()));
}

// Numbers from 1, of steps that are named by theirs or as they are called.
Result<json> NumbersOf(const std::vector<std::string>& words,
                       const std::vector<runner::StepEntry>& list, const std::string& job) {
  json numbers = json::array();
  for (std::size_t w = 1; w < words.size(); ++w) {
    std::size_t found = list.size();
    for (std::size_t i = 0; i < list.size() && found == list.size(); ++i) {
      if (words[w] == std::to_string(i + 1) || words[w] == list[i].label) found = i;
    }
    if (found == list.size()) {
      return Fail(
          Error::Code::kInvalidArgument,
          fmt::format("job {} has no step '{}'; there are 1 to {}", job, words[w], list.size()));
    }
    numbers.push_back(found + 1);
  }
  return numbers;
}

bool MayBeTriedAgain(StepState state) {
  return state == StepState::kFailed || state == StepState::kUndecided ||
         state == StepState::kUnknown;
}

// Of a job on which nobody works.
Result<std::uint64_t> RetryAtRest(const runner::JobFolder& folder, runner::Journal& journal,
                                  const json& chosen) {
  const auto imported = ImportRecords(folder, journal, runner::Supervisors::kOrphans);
  if (!imported) return std::unexpected(imported.error());
  const auto list = journal.List();
  if (!list) return std::unexpected(list.error());
  std::uint64_t retried = 0;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const bool wanted = chosen.empty() || std::ranges::find(chosen, json(i + 1)) != chosen.end();
    if (!wanted || !MayBeTriedAgain((*list)[i].state)) continue;
    if (auto forgotten = journal.Forget((*list)[i].identity); !forgotten) {
      return std::unexpected(forgotten.error());
    }
    ++retried;
  }
  if (auto committed = journal.Commit(); !committed) return std::unexpected(committed.error());
  return retried;
}

Result<Answered> Retry(const runner::JobFolder& folder, const std::vector<std::string>& words) {
  auto journal = runner::Journal::Open(folder.journal());
  if (!journal) return std::unexpected(journal.error());
  const auto list = journal->List();
  if (!list) return std::unexpected(list.error());
  const auto chosen = NumbersOf(words, *list, folder.id());
  if (!chosen) return std::unexpected(chosen.error());
  // Held while it is written: no runner begins meanwhile.
  if (const auto lock = folder.Lock()) {
    const auto retried = RetryAtRest(folder, *journal, *chosen);
    if (!retried) return std::unexpected(retried.error());
    return Answered{*retried, false};
  }
  json request = {{"request", "retry"}};
  if (!chosen->empty()) request["steps"] = *chosen;
  const auto answer = Ask(folder, request);
  if (!answer) return std::unexpected(answer.error());
  if (!*answer) {
    return Fail(Error::Code::kUnavailable,
                fmt::format("the runner of job {} has just ended; try again", folder.id()));
  }
  return Answered{**answer, true};
}

// First in the journal and the file beside it, where it lasts; then a runner is told to look there.
Result<Answered> Add(const runner::JobFolder& folder, const runner::Job& more) {
  auto journal = runner::Journal::Open(folder.journal());
  if (!journal) return std::unexpected(journal.error());
  const auto added = runner::AddSteps(*journal, more);
  if (!added) return std::unexpected(added.error());
  if (auto settled = runner::SettleAdded(folder, *journal); !settled) {
    return std::unexpected(settled.error());
  }
  if (auto committed = journal->Commit(); !committed) return std::unexpected(committed.error());
  const auto answer = Ask(folder, {{"request", "add"}});
  return Answered{*added, answer && answer->has_value()};
}

// What says how a job is run is for `run`; a job that is run already has it.
bool SaysHow(const runner::RunRequest& request) { return request != runner::RunRequest{}; }

std::string StepsText(std::uint64_t steps) {
  return steps == 1 ? std::string("1 step") : fmt::format("{} steps", steps);
}

}  // namespace

int RetryJob(int argc, char** argv) {
  constexpr std::size_t kMostSteps = 4096;
  const auto words = ReadJobWords(argc, argv, 1, 1 + kMostSteps, "retry JOB [STEP...]");
  if (!words) return SayJobError(words.error());
  const auto folder = FindJob(words->names[0]);
  if (!folder) return SayJobError(folder.error());
  const auto retried = Retry(*folder, words->names);
  if (!retried) return SayJobError(retried.error());
  if (retried->steps == 0) {
    fmt::print("nothing of job {} has failed{}\n", folder->id(),
               words->names.size() > 1 ? " of what is named" : "");
    return kDone;
  }
  fmt::print("{} of job {} {} again{}\n", StepsText(retried->steps), folder->id(),
             retried->steps == 1 ? "waits" : "wait",
             retried->runs ? "" : "; the same reveza jobs run goes on from there");
  return kDone;
}

int AddToJob(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    return Say(kUsage,
               "to which job? write: reveza jobs add JOB [OPTIONS] -- COMMAND ::: NAME VALUES");
  }
  const auto folder = FindJob(argv[1]);
  if (!folder) return SayJobError(folder.error());
  const auto run = ParseRun(argc - 1, argv + 1);
  if (!run) return SayJobError(run.error());
  if (!run->help.empty()) {
    fmt::print("{}", run->help);
    return kDone;
  }
  // A job file may have a name; it is that of the job, or meant for another one.
  if ((run->named && run->job.name != folder->id()) || SaysHow(run->request)) {
    return Say(kUsage,
               "reveza jobs add says what is run, not how: leave away what belongs to jobs run");
  }
  for (const auto& command : run->job.commands) {
    if (command.environment.empty()) continue;
    // A value may be a secret, and would stand in the journal as it is.
    return Say(kUsage,
               fmt::format("reveza jobs add keeps no values of variables, they may be secrets: set "
                           "{0} where reveza jobs run is started, whose environment the steps "
                           "have, and add with --identity-env {0} if it decides the results",
                           command.environment[0].first));
  }
  for (const auto& note : run->notes) fmt::print(stderr, "reveza: {}\n", note);
  const auto added = Add(*folder, run->job);
  if (!added) return SayJobError(added.error());
  const std::size_t known = run->job.steps.size() - added->steps;
  fmt::print("{} new{}{}\n", StepsText(added->steps),
             known > 0 ? fmt::format(", {} known already", known) : "",
             added->steps > 0 && !added->runs ? "; the same reveza jobs run works on them" : "");
  return kDone;
}

}  // namespace reveza::cli
