#include "reveza/cli/reveza/jobs/job_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string_view>

#include "common/base/units.h"
#include "reveza/jobs/definition/template.h"
#include "reveza/jobs/engine/control.h"
#include "reveza/jobs/engine/earlier_commands.h"
#include "reveza/jobs/report/progress_text.h"

namespace reveza::cli {
namespace {

using jobs::StepState;
using nlohmann::json;

json SecondsOf(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

std::string StepsText(const JobSummary& job) {
  const auto more = [&](StepState state, const char* name) {
    const auto count = job.Count(state);
    return count > 0 ? fmt::format(", {} {}", count, name) : std::string();
  };
  return fmt::format("{} of {} done{}{}{}", job.Count(StepState::kDone), job.AllSteps(),
                     CyclesText({{"cycles", job.cycles}}), more(StepState::kFailed, "failed"),
                     more(StepState::kUnknown, "unknown"));
}

std::string ElapsedText(const JobSummary& job) {
  const auto elapsed = job.Elapsed();
  return elapsed ? FormatDuration(*elapsed) : "";
}

std::string CommandsText(const JobSummary& job) {
  if (job.commands.empty()) return "";
  const std::string first = CommandText(job.commands.front());
  const auto more = job.commands.size() - 1;
  return more > 0 ? fmt::format("{} (and {} more)", first, more) : first;
}

}  // namespace

std::uint64_t JobSummary::Count(StepState state) const {
  const auto of = [&](StepState one) {
    const auto found = states.find(one);
    return found == states.end() ? std::uint64_t{0} : found->second;
  };
  return of(state) + (state == StepState::kFailed ? of(StepState::kUndecided) : 0);
}

std::uint64_t JobSummary::AllSteps() const {
  std::uint64_t all = 0;
  for (const auto& [state, count] : states) all += count;
  return all;
}

std::string JobSummary::State() const {
  if (running) return "running";
  if (Count(StepState::kWaiting) > 0) {
    if (!run) return "waiting";
    if (!run->end) return "killed";
    // Steps may have been added or requeued since.
    return *run->end == jobs::RunEnd::kDone || run->waiting == 0 ? "waiting" : ToText(*run->end);
  }
  if (Count(StepState::kFailed) > 0) return "failed";
  return Count(StepState::kUnknown) > 0 ? "unknown" : "done";
}

std::optional<std::chrono::nanoseconds> JobSummary::Elapsed() const {
  if (!run) return std::nullopt;
  jobs::WallTime until = run->ended;
  if (running) until = jobs::WallNow();
  if (until == 0) until = last_end.value_or(run->began);
  return std::chrono::nanoseconds(std::max<jobs::WallTime>(0, until - run->began));
}

Result<JobSummary> SummarizeJob(const jobs::JobFolder& folder, jobs::JournalReader& journal) {
  JobSummary job;
  job.id = folder.id();
  ASSIGN_OR_RETURN(job.running, folder.IsLocked());
  ASSIGN_OR_RETURN(job.states, journal.CountStates());
  ASSIGN_OR_RETURN(const auto run, journal.Get(jobs::kRunRecordKey));
  if (run) job.run = jobs::ParseRunRecord(*run);
  ASSIGN_OR_RETURN(job.last_end, journal.LastEnd());
  job.commands = jobs::KeptCommands(folder);
  const auto has_cycles = [](const jobs::Command& command) { return command.cycles.has_value(); };
  if (job.running && std::ranges::any_of(job.commands, has_cycles)) {
    const auto status = jobs::QueryRunner(folder.id(), {{"request", "status"}});
    if (status) job.cycles = status->value("cycles", json());
  }
  return job;
}

std::string CyclesText(const json& status) {
  const json cycles = status.value("cycles", json());
  if (!cycles.is_object()) return "";
  return fmt::format(", {} of {} cycles", cycles.value("done", std::uint64_t{0}),
                     cycles.value("all", std::uint64_t{0}));
}

json SummaryJson(const JobSummary& job) {
  const auto elapsed = job.Elapsed();
  json commands = json::array();
  for (const auto& command : job.commands) commands.push_back(CommandText(command));
  return {{"id", job.id},
          {"running", job.running},
          {"state", job.State()},
          {"began", job.run ? SecondsOf(job.run->began) : json()},
          {"elapsed", elapsed ? SecondsOf(elapsed->count()) : json()},
          {"commands", commands},
          {"cycles", job.cycles},
          {"steps",
           {{"all", job.AllSteps()},
            {"done", job.Count(StepState::kDone)},
            {"failed", job.Count(StepState::kFailed)},
            {"unknown", job.Count(StepState::kUnknown)},
            {"waiting", job.Count(StepState::kWaiting)}}}};
}

std::string ListText(const std::vector<JobSummary>& jobs) {
  constexpr std::size_t kMaxCommand = 60;
  std::size_t name = 3;
  std::size_t steps = 5;
  for (const auto& job : jobs) {
    name = std::max(name, job.id.size());
    steps = std::max(steps, StepsText(job).size());
  }
  std::string text = fmt::format("{:<{}}  {:<11}  {:<{}}  {:<19}  {:>10}  COMMAND\n", "JOB", name,
                                 "STATE", "STEPS", steps, "STARTED", "ELAPSED");
  for (const auto& job : jobs) {
    const std::string command =
        jobs::Truncate(jobs::EscapeControls(CommandsText(job)), kMaxCommand);
    std::string line = fmt::format(
        "{:<{}}  {:<11}  {:<{}}  {:<19}  {:>10}  {}", job.id, name, job.State(), StepsText(job),
        steps, job.run ? TimeText(job.run->began) : "", ElapsedText(job), command);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string CommandText(const jobs::Command& command) {
  std::string line;
  for (const std::string& word : command.arguments) {
    std::string bare = word;
    std::erase_if(bare, [](char c) { return c == '{' || c == '}'; });
    const bool plain = bare != word && (bare.empty() || jobs::ShellQuote(bare) == bare);
    line += (line.empty() ? "" : " ") + (plain ? word : jobs::ShellQuote(word));
  }
  return command.shell ? "/bin/sh -c " + line : line;
}

std::string TimeText(jobs::WallTime at) {
  const std::time_t seconds = at / 1'000'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

}  // namespace reveza::cli
