// Commands of `reveza jobs` that show how jobs are: list, show, why.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/json_text.h"
#include "common/base/units.h"
#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/cli/reveza/jobs/job_summary.h"
#include "reveza/jobs/engine/control.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/report/progress_text.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using jobs::JobFolder;
using jobs::StepState;
using nlohmann::json;

constexpr std::size_t kMaxShown = 20;

// Returns how the pause affects running steps; nothing if the job is not paused.
std::optional<std::string> PauseText(const JobFolder& folder) {
  const auto status = jobs::QueryRunner(folder.id(), {{"request", "status"}});
  if (!status || status->value("state", "") != "paused") return std::nullopt;
  const auto waiting = status->find("waiting");
  return waiting != status->end() && waiting->is_string() ? waiting->get<std::string>()
                                                          : "the job is paused";
}

// A step that is neither waiting nor done, with its last attempt.
struct Unsuccessful {
  jobs::NumberedStep step;
  jobs::AttemptResult result;
  std::string errors;  // path
};

Result<std::vector<Unsuccessful>> UnsuccessfulSteps(jobs::JournalReader& journal,
                                                    const fs::path& outputs) {
  ASSIGN_OR_RETURN(auto steps, journal.UnsuccessfulSteps());
  std::vector<Unsuccessful> all;
  for (auto& step : steps) {
    ASSIGN_OR_RETURN(const auto last, journal.LastAttempt(step.entry.identity));
    if (!last) continue;
    const std::string errors = (outputs / step.entry.files).string() + ".err";
    all.push_back({std::move(step), last->result, errors});
  }
  return all;
}

json UnsuccessfulJson(const std::vector<Unsuccessful>& steps) {
  json failed = json::array();
  for (const auto& [step, result, errors] : steps) {
    failed.push_back({{"step", step.number},
                      {"label", step.entry.label},
                      {"outcome", ToText(result.outcome)},
                      {"code", result.code},
                      {"attempts", step.entry.attempts},
                      {"ended", result.ended},
                      {"errors", errors}});
  }
  return failed;
}

void PrintUnsuccessful(const std::vector<Unsuccessful>& steps) {
  for (std::size_t i = 0; i < steps.size() && i < kMaxShown; ++i) {
    const auto& [step, result, errors] = steps[i];
    fmt::print("  step {} ({}): {}, code {}, {} attempts, last {}\n", step.number,
               jobs::EscapeControls(step.entry.label), ToText(result.outcome), result.code,
               step.entry.attempts, TimeText(result.ended));
  }
  if (steps.size() > kMaxShown) {
    fmt::print("  and {} more; --json lists all\n", steps.size() - kMaxShown);
  }
}

// Returns the last line that is not empty; "" if there is none.
std::string LastLine(const std::string& path) {
  constexpr std::streamoff kTail = 4096;
  constexpr std::size_t kMaxLine = 200;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg();
  file.seekg(size > kTail ? size - kTail : 0);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (line.find_first_not_of(" \t\r") != line.npos) last = line;
  }
  return jobs::EscapeControls(jobs::Truncate(last, kMaxLine));
}

// Returns an error without its numbers, which may be those of the step.
std::string KindOf(std::string_view line) {
  std::string kind;
  for (const char c : line) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || !kind.ends_with('#')) kind += digit ? '#' : c;
  }
  return kind;
}

// Prints each way in which steps failed, with its first step, the most frequent first.
void PrintCauses(const std::vector<Unsuccessful>& steps) {
  // The errors of more steps are not read.
  constexpr std::size_t kMaxRead = 10'000;
  struct Cause {
    const Unsuccessful* first = nullptr;
    std::string line;  // the last of its errors
    std::size_t steps = 0;
  };
  std::map<std::tuple<jobs::Outcome, int, std::string>, std::size_t> known;
  std::vector<Cause> causes;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Unsuccessful& one = steps[i];
    std::string line = i < kMaxRead ? LastLine(one.errors) : "";
    const auto [at, is_new] =
        known.try_emplace({one.result.outcome, one.result.code, KindOf(line)}, causes.size());
    if (is_new) causes.push_back({&one, std::move(line), 0});
    ++causes[at->second].steps;
  }
  std::ranges::stable_sort(causes, std::ranges::greater(), &Cause::steps);
  for (std::size_t i = 0; i < causes.size() && i < kMaxShown; ++i) {
    const auto& [first, line, count] = causes[i];
    fmt::print("  {}: {}, first {}{}\n", Plural(count, "step"), jobs::OutcomeText(first->result),
               jobs::EscapeControls(first->step.entry.label),
               line.empty() ? "" : fmt::format("; its errors end with \"{}\"", line));
  }
  if (causes.size() > kMaxShown) {
    fmt::print("  and {} other ways; `reveza jobs show --json` lists all steps\n",
               causes.size() - kMaxShown);
  }
}

// Explains a job that has no runner.
Result<int> WhyEnded(const JobFolder& folder) {
  ASSIGN_OR_RETURN(auto journal, jobs::JournalReader::Open(folder.journal()));
  ASSIGN_OR_RETURN(const auto job, SummarizeJob(folder, journal));
  const std::string state = job.State();
  const auto elapsed = job.Elapsed();
  fmt::print("{}: not running; {}{}\n", job.id, state,
             job.run && elapsed ? fmt::format(" (started {}, ran {})", TimeText(job.run->began),
                                              FormatDuration(*elapsed))
                                : "");
  if (job.run && !job.run->reason.empty()) fmt::print("{}\n", job.run->reason);
  if (state == "killed") {
    fmt::print("the runner did not end by itself: it was killed, or the machine went down\n");
  }
  const auto failed = job.Count(StepState::kFailed) + job.Count(StepState::kUnknown);
  if (failed > 0) {
    ASSIGN_OR_RETURN(const auto steps, UnsuccessfulSteps(journal, OutputFolder(folder, journal)));
    fmt::print("{} of {} did not succeed; --retry-failed and --on-unknown retry run them again:\n",
               failed, Plural(job.AllSteps(), "step"));
    PrintCauses(steps);
  }
  if (job.run && job.run->skipped > 0) {
    fmt::print("{} after steps that failed\n", Plural(job.run->skipped, "step"));
  }
  if (const auto waiting = job.Count(StepState::kWaiting); waiting > 0) {
    fmt::print("{} left; the same `reveza jobs run` resumes the job\n",
               waiting == 1 ? "1 step is" : fmt::format("{} steps are", waiting));
  } else if (failed == 0) {
    const auto all = job.AllSteps();
    fmt::print("{} done\n", all == 1 ? "the step is" : fmt::format("all {} steps are", all));
  }
  return kDone;
}

}  // namespace

fs::path OutputFolder(const JobFolder& folder, jobs::JournalReader& journal) {
  const auto kept = journal.Get(jobs::kOutputsKey);
  return kept && *kept ? fs::path(**kept) : folder.outputs();
}

Result<int> ListJobs(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto state, platform::StateHome(platform::ProcessEnvironment));
  json all = json::array();
  std::vector<JobSummary> summaries;
  std::string unreadable;
  for (const auto& name : JobFolder::List(state)) {
    const auto folder = JobFolder::Find(state, name);
    if (!folder) continue;
    auto journal = jobs::JournalReader::Open(folder->journal());
    auto job = journal ? SummarizeJob(*folder, *journal) : std::unexpected(journal.error());
    if (!job) {
      all.push_back({{"id", name}, {"error", job.error().message}});
      unreadable += fmt::format("{}: {}\n", name, job.error().message);
      continue;
    }
    all.push_back(SummaryJson(*job));
    summaries.push_back(*std::move(job));
  }
  if (arguments.json) {
    fmt::print("{}\n", JsonText(all, 2));
    return kDone;
  }
  if (all.empty()) fmt::print("no jobs; `reveza jobs run` creates one\n");
  if (!summaries.empty()) fmt::print("{}", ListText(summaries));
  fmt::print("{}", unreadable);
  return kDone;
}

Result<int> ShowJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  ASSIGN_OR_RETURN(auto journal, jobs::JournalReader::Open(folder.journal()));
  ASSIGN_OR_RETURN(const auto job, SummarizeJob(folder, journal));
  const fs::path outputs = OutputFolder(folder, journal);
  ASSIGN_OR_RETURN(const auto failed, UnsuccessfulSteps(journal, outputs));
  ASSIGN_OR_RETURN(const auto metrics, jobs::ReadMetrics(journal));
  const auto limits = journal.Get(jobs::kLimits);
  const auto pause = job.running ? PauseText(folder) : std::nullopt;
  if (arguments.json) {
    json shown = SummaryJson(job);
    shown["failed"] = UnsuccessfulJson(failed);
    shown["outputs"] = outputs.string();
    if (limits && *limits) shown["limits"] = **limits;
    if (pause) shown["paused"] = *pause;
    shown["metrics"] = jobs::MetricsJson(metrics.all());
    fmt::print("{}\n", JsonText(shown, 2));
    return kDone;
  }
  fmt::print("{}: {} of {} steps done{}, {} failed, {} unknown, {} waiting; {}\n", job.id,
             job.Count(StepState::kDone), job.AllSteps(), CyclesText({{"cycles", job.cycles}}),
             job.Count(StepState::kFailed), job.Count(StepState::kUnknown),
             job.Count(StepState::kWaiting), job.State());
  if (pause) fmt::print("{}\n", *pause);
  for (const auto& command : job.commands) {
    fmt::print("command: {}\nfolder: {}\n", jobs::EscapeControls(CommandText(command)),
               jobs::EscapeControls(command.folder.string()));
  }
  if (const auto elapsed = job.Elapsed()) {
    fmt::print("started: {}, {} {}\n", TimeText(job.run->began),
               job.running ? "running for" : "ran", FormatDuration(*elapsed));
  }
  fmt::print("outputs: {}\n", jobs::EscapeControls(outputs.string()));
  if (limits && *limits) fmt::print("limits: {}\n", **limits);
  for (const auto& metric : metrics.all()) fmt::print("{}\n", jobs::MetricText(metric));
  PrintUnsuccessful(failed);
  return kDone;
}

Result<int> WhyJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  const auto answer = jobs::QueryRunner(folder.id(), {{"request", "status"}});
  if (!answer && answer.error().code == Error::Code::kUnavailable) {
    ASSIGN_OR_RETURN(const auto locked, folder.IsLocked());
    if (!locked) return WhyEnded(folder);
  }
  if (!answer) return std::unexpected(answer.error());
  const json& status = *answer;
  PrintStatus(status);
  const auto& waiting = status["waiting"];
  const auto& reason = status["workers"]["reason"];
  if (waiting.is_string()) fmt::print("the next step waits: {}\n", waiting.get<std::string>());
  if (reason.is_string()) fmt::print("number of workers: {}\n", reason.get<std::string>());
  for (const auto& [lane, workers] : status["workers"]["lanes"].items()) {
    const auto limit = workers.find("limit");
    if (limit == workers.end() || !limit->is_string()) continue;
    fmt::print("limit of {} steps: {}\n", lane == "gpu" ? "GPU" : "CPU", limit->get<std::string>());
  }
  if (!waiting.is_string() && !reason.is_string()) {
    fmt::print("nothing limits the job but the number of workers\n");
  }
  return kDone;
}

}  // namespace reveza::cli
