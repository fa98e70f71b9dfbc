#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/units.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/cli/reveza/jobs/job_arguments.h"
#include "reveza/jobs/engine/added_steps.h"
#include "reveza/jobs/engine/control.h"
#include "reveza/jobs/engine/open_job.h"
#include "reveza/jobs/engine/step_limits.h"
#include "reveza/jobs/journal/import_records.h"
#include "reveza/jobs/journal/journal.h"

namespace reveza::cli {
namespace {

using jobs::StepState;
using nlohmann::json;

struct EditResult {
  std::uint64_t steps = 0;
  bool running = false;  // a runner has been told
};

// Sends a request to the job's runner and returns how many steps it affected; nothing if there is
// no runner. A runner that holds the lock without answering is starting or exiting: retries for up
// to 5 s.
Result<std::optional<std::uint64_t>> SendToRunner(const jobs::JobFolder& folder,
                                                  const json& request) {
  constexpr int kMaxTries = 100;
  for (int i = 0; i < kMaxTries; ++i) {
    const auto answer = jobs::QueryRunner(folder.id(), request);
    if (answer && answer->contains("error")) {
      return Fail(Error::Code::kUnavailable, (*answer)["error"].get<std::string>());
    }
    if (answer) return answer->value("steps", std::uint64_t{0});
    // The runner may have acted without answering; the request is not idempotent.
    if (answer.error().code != Error::Code::kUnavailable) return std::unexpected(answer.error());
    ASSIGN_OR_RETURN(const auto locked, folder.IsLocked());
    if (!locked) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return Fail(Error::Code::kUnavailable, "the runner of job {} does not answer; try again",
              folder.id());
}

// Converts steps, each a number or label, to step numbers (from 1).
Result<json> StepNumbers(const std::vector<std::string>& steps,
                         const std::vector<jobs::StepEntry>& list, const std::string& job) {
  json numbers = json::array();
  for (const std::string& step : steps) {
    ASSIGN_OR_RETURN(const auto found, FindStep(list, step, job));
    numbers.push_back(found + 1);
  }
  return numbers;
}

bool IsRetryable(StepState state) {
  return state == StepState::kFailed || state == StepState::kUndecided ||
         state == StepState::kUnknown;
}

// Requeues steps in the journal; the caller holds the job's lock.
Result<std::uint64_t> RetryInJournal(const jobs::JobFolder& folder, jobs::Journal& journal,
                                     const json& chosen) {
  RETURN_IF_ERROR(ImportRecords(folder, journal, jobs::Supervisors::kOrphans));
  ASSIGN_OR_RETURN(const auto list, journal.List());
  std::uint64_t retried = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool wanted = chosen.empty() || std::ranges::find(chosen, json(i + 1)) != chosen.end();
    if (!wanted || !IsRetryable(list[i].state)) continue;
    RETURN_IF_ERROR(journal.Requeue(list[i].identity));
    ++retried;
  }
  RETURN_IF_ERROR(journal.Commit());
  return retried;
}

Result<EditResult> Retry(const jobs::JobFolder& folder, const std::vector<std::string>& steps) {
  ASSIGN_OR_RETURN(auto journal, jobs::Journal::Open(folder.journal()));
  ASSIGN_OR_RETURN(const auto list, journal.List());
  ASSIGN_OR_RETURN(const auto chosen, StepNumbers(steps, list, folder.id()));
  // While the lock is held no runner can start.
  if (const auto lock = folder.Lock()) {
    ASSIGN_OR_RETURN(const auto retried, RetryInJournal(folder, journal, chosen));
    return EditResult{retried, false};
  }
  json request = {{"request", "retry"}};
  if (!chosen.empty()) request["steps"] = chosen;
  ASSIGN_OR_RETURN(const auto answer, SendToRunner(folder, request));
  if (!answer) {
    return Fail(Error::Code::kUnavailable, "the runner of job {} has just exited; try again",
                folder.id());
  }
  return EditResult{*answer, true};
}

// Makes the steps durable in the journal and the file beside it, then notifies the runner.
Result<EditResult> Add(const jobs::JobFolder& folder, const jobs::Job& more) {
  ASSIGN_OR_RETURN(auto journal, jobs::Journal::Open(folder.journal()));
  ASSIGN_OR_RETURN(const auto added, jobs::AddSteps(journal, more));
  RETURN_IF_ERROR(jobs::SyncAddedSteps(folder, journal));
  RETURN_IF_ERROR(journal.Commit());
  const auto answer = SendToRunner(folder, {{"request", "add"}});
  return EditResult{added, answer && answer->has_value()};
}

namespace fs = std::filesystem;

}  // namespace

Result<int> RetryJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  ASSIGN_OR_RETURN(const auto retried, Retry(folder, arguments.steps));
  if (retried.steps == 0) {
    fmt::print("job {} has no failed steps{}\n", folder.id(),
               arguments.steps.empty() ? "" : " among those listed");
    return kDone;
  }
  fmt::print("job {}: {} requeued{}\n", folder.id(), Plural(retried.steps, "step"),
             retried.running ? "" : "; the same `reveza jobs run` runs them");
  return kDone;
}

Result<int> AddToJob(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    return ReportError(
        kUsage,
        "no job given; usage: reveza jobs add JOB [OPTIONS] -- COMMAND... [::: NAME VALUES...]");
  }
  ASSIGN_OR_RETURN(const auto folder, FindJob(argv[1]));
  ASSIGN_OR_RETURN(const auto run, ParseRun(argc - 1, argv + 1));
  if (!run.help.empty()) {
    fmt::print("{}", run.help);
    return kDone;
  }
  // A job file may repeat the job's name; any other name is a mistake.
  if ((run.named && run.job.name != folder.id()) || run.request != jobs::RunRequest{}) {
    return ReportError(kUsage,
                       "reveza jobs add takes only options that describe the command; those that "
                       "control the run belong to reveza jobs run");
  }
  for (const auto& command : run.job.commands) {
    if (command.environment.empty()) continue;
    // A value may be a secret and would be stored in the journal as plain text.
    return ReportError(
        kUsage,
        "--env: values may be secrets and are not stored; set {0} in the environment "
        "of reveza jobs run, and use --identity-env {0} if it affects results",
        command.environment[0].first);
  }
  for (const auto& note : run.notes) fmt::print(stderr, "reveza: {}\n", note);
  ASSIGN_OR_RETURN(const auto added, Add(folder, run.job));
  const std::size_t known = run.job.steps.size() - added.steps;
  fmt::print("{} added{}{}\n", Plural(added.steps, "step"),
             known > 0 ? fmt::format(", {} already present", known) : "",
             added.steps > 0 && !added.running ? "; the same `reveza jobs run` runs them" : "");
  return kDone;
}

Result<int> ControlJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  ASSIGN_OR_RETURN(const auto answer,
                   jobs::QueryRunner(folder.id(), {{"request", arguments.command}}));
  if (answer.contains("error")) return ReportError(kFailed, answer["error"].get<std::string>());
  if (const auto note = answer.value("note", ""); !note.empty()) fmt::print("{}\n", note);
  return kDone;
}

Result<int> RepairJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  ASSIGN_OR_RETURN(const auto lock, folder.Lock());
  ASSIGN_OR_RETURN(const auto repaired, jobs::RepairJob(folder));
  fmt::print(
      "recovered {} attempts, {} of them with an unknown result; the same `reveza jobs run` "
      "resumes the job\n",
      repaired.attempts, repaired.unknown);
  if (!repaired.kept.empty()) fmt::print("also recovered: {}\n", fmt::join(repaired.kept, ", "));
  if (repaired.added_lost) {
    fmt::print(
        "the steps added by `reveza jobs add` are lost; add them again (their results are kept)\n");
  }
  return kDone;
}

Result<int> PruneJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  ASSIGN_OR_RETURN(const auto lock, folder.Lock());
  jobs::RemoveStaleGroups(folder);
  std::error_code error;
  fs::remove_all(folder.path(), error);
  if (!error) return kDone;
  return ReportError(kOutput, "cannot remove {}: {}", folder.path().string(), error.message());
}

}  // namespace reveza::cli
