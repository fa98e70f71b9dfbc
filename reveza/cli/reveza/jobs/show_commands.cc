#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/json_text.h"
#include "common/base/units.h"
#include "common/platform/runtime_paths.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/jobs/commands.h"
#include "reveza/jobs/engine/control.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/engine/open_job.h"
#include "reveza/jobs/engine/step_limits.h"
#include "reveza/jobs/journal/job_folder.h"
#include "reveza/jobs/journal/journal.h"
#include "reveza/jobs/journal/verify_outputs.h"
#include "reveza/jobs/report/progress_text.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using jobs::JobFolder;
using jobs::StepState;
using nlohmann::json;

struct Counts {
  std::map<StepState, std::uint64_t> of;
  std::uint64_t all = 0;

  std::uint64_t Of(StepState state) const {
    const auto found = of.find(state);
    return found == of.end() ? 0 : found->second;
  }
};

struct OpenedJournal {
  JobFolder folder;
  jobs::Journal journal;
  std::vector<jobs::StepEntry> steps;
};

Result<OpenedJournal> OpenJournal(const std::string& name) {
  ASSIGN_OR_RETURN(auto folder, FindJob(name));
  ASSIGN_OR_RETURN(auto journal, jobs::Journal::Open(folder.journal()));
  ASSIGN_OR_RETURN(auto steps, journal.List());
  return OpenedJournal{std::move(folder), std::move(journal), std::move(steps)};
}

// Returns the folder to which the last run wrote the outputs of steps.
fs::path OutputFolder(const JobFolder& folder, jobs::Journal& journal) {
  const auto kept = journal.Get(jobs::kOutputsKey);
  return kept && *kept ? fs::path(**kept) : folder.outputs();
}

Counts Count(const std::vector<jobs::StepEntry>& steps) {
  Counts counts;
  counts.all = steps.size();
  for (const auto& step : steps) {
    // Without a runner, a step whose retry is undecided has failed.
    const bool undecided = step.state == StepState::kUndecided;
    ++counts.of[undecided ? StepState::kFailed : step.state];
  }
  return counts;
}

json ToJson(const std::string& id, const Counts& counts, bool runs) {
  return {{"id", id},
          {"running", runs},
          {"steps",
           {{"all", counts.all},
            {"done", counts.Of(StepState::kDone)},
            {"failed", counts.Of(StepState::kFailed)},
            {"unknown", counts.Of(StepState::kUnknown)},
            {"waiting", counts.Of(StepState::kWaiting)}}}};
}

std::string TimeText(jobs::WallTime at) {
  const std::time_t seconds = at / 1'000'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

// Returns how the pause affects running steps; nothing if the job is not paused.
std::optional<std::string> PauseText(const JobFolder& folder) {
  const auto status = jobs::QueryRunner(folder.id(), {{"request", "status"}});
  if (!status || status->value("state", "") != "paused") return std::nullopt;
  const auto waiting = status->find("waiting");
  return waiting != status->end() && waiting->is_string() ? waiting->get<std::string>()
                                                          : "the job is paused";
}

// Lists the last attempt of each step that is neither waiting nor done.
json FailedSteps(const std::vector<jobs::StepEntry>& list, jobs::Journal& journal,
                 const fs::path& outputs) {
  json failed = json::array();
  std::size_t number = 0;
  for (const auto& step : list) {
    ++number;
    if (step.state == StepState::kWaiting || step.state == StepState::kDone) continue;
    const auto attempts = journal.Attempts(step.identity);
    if (!attempts || attempts->empty()) continue;
    const auto& last = attempts->back().result;
    failed.push_back({{"step", number},
                      {"label", step.label},
                      {"outcome", ToText(last.outcome)},
                      {"code", last.code},
                      {"attempts", attempts->size()},
                      {"ended", last.ended},
                      {"errors", (outputs / step.files).string() + ".err"}});
  }
  return failed;
}

void PrintFailedSteps(const json& failed) {
  constexpr std::size_t kMaxShown = 20;
  for (std::size_t i = 0; i < failed.size() && i < kMaxShown; ++i) {
    const auto& one = failed[i];
    fmt::print("  step {} ({}): {}, code {}, {} attempts, last {}\n",
               one["step"].get<std::size_t>(), one["label"].get<std::string>(),
               one["outcome"].get<std::string>(), one["code"].get<int>(),
               one["attempts"].get<std::size_t>(), TimeText(one["ended"].get<jobs::WallTime>()));
  }
  if (failed.size() > kMaxShown) {
    fmt::print("  and {} more; --json lists all\n", failed.size() - kMaxShown);
  }
}

std::uint64_t CountOf(const json& job, const char* state) {
  return job["steps"][state].get<std::uint64_t>();
}

void PrintStatus(const json& status) {
  fmt::print("{}: {} of {} done, {} running, {} waiting, {} failed; {} workers\n",
             status["id"].get<std::string>(), CountOf(status, "done"), CountOf(status, "all"),
             CountOf(status, "running"), CountOf(status, "waiting"), CountOf(status, "failed"),
             status["workers"]["best"].is_null() ? 0 : status["workers"]["best"].get<unsigned>());
}

// Returns the running attempt of a step; 0 if there is none, or no runner.
std::uint32_t RunningAttempt(const std::string& job, std::size_t step) {
  const auto status = jobs::QueryRunner(job, {{"request", "status"}});
  if (!status || !status->contains("running")) return 0;
  for (const auto& one : (*status)["running"]) {
    if (one.value("step", std::size_t{0}) == step + 1) {
      return one.value("attempt", std::uint32_t{0});
    }
  }
  return 0;
}

// Prints both outputs of an attempt as they grow.
class StepOutput {
 public:
  explicit StepOutput(fs::path files) : files_(std::move(files)) {}

  // Prints what was written since the last call. Returns whether it could be printed.
  bool PrintNew() {
    for (auto& [suffix, file, stream] : streams_) {
      // The open file is the attempt's, even when a next attempt gives it another name.
      if (!file.is_open()) file.open(files_.string() + suffix, std::ios::binary);
      file.clear();
      char part[65536];
      while (file.read(part, sizeof(part)) || file.gcount() > 0) {
        std::fwrite(part, 1, static_cast<std::size_t>(file.gcount()), stream);
      }
    }
    return std::fflush(stdout) == 0;
  }

 private:
  struct Stream {
    const char* suffix;
    std::ifstream file;
    std::FILE* stream;
  };
  fs::path files_;
  Stream streams_[2] = {{".out", {}, stdout}, {".err", {}, stderr}};
};

}  // namespace

Result<int> ListJobs(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto state, platform::StateHome(platform::ProcessEnvironment));
  json all = json::array();
  for (const auto& name : JobFolder::List(state)) {
    const auto folder = JobFolder::Find(state, name);
    if (!folder) continue;
    auto journal = jobs::Journal::Open(folder->journal());
    const auto list = journal ? journal->List() : std::unexpected(journal.error());
    if (!list) {
      all.push_back({{"id", name}, {"error", list.error().message}});
      continue;
    }
    ASSIGN_OR_RETURN(const auto locked, folder->IsLocked());
    all.push_back(ToJson(name, Count(*list), locked));
  }
  if (arguments.json) {
    fmt::print("{}\n", JsonText(all, 2));
    return kDone;
  }
  if (all.empty()) fmt::print("no jobs; `reveza jobs run` creates one\n");
  for (const auto& job : all) {
    if (job.contains("error")) {
      fmt::print("{:<32} {}\n", job["id"].get<std::string>(), job["error"].get<std::string>());
      continue;
    }
    const auto failed = CountOf(job, "failed");
    const auto unknown = CountOf(job, "unknown");
    fmt::print("{:<32} {:>8} of {} done{}{}{}\n", job["id"].get<std::string>(),
               CountOf(job, "done"), CountOf(job, "all"),
               failed > 0 ? fmt::format(", {} failed", failed) : "",
               unknown > 0 ? fmt::format(", {} unknown", unknown) : "",
               job["running"].get<bool>() ? ", running" : "");
  }
  return kDone;
}

Result<int> ShowJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(auto job, OpenJournal(arguments.job));
  auto& [folder, journal, list] = job;
  const Counts counts = Count(list);
  const fs::path outputs = OutputFolder(folder, journal);
  ASSIGN_OR_RETURN(const auto locked, folder.IsLocked());
  json shown = ToJson(folder.id(), counts, locked);
  const json failed = FailedSteps(list, journal, outputs);
  shown["failed"] = failed;
  shown["outputs"] = outputs.string();
  const auto limits = journal.Get(jobs::kLimits);
  if (limits && *limits) shown["limits"] = **limits;
  const auto pause = locked ? PauseText(folder) : std::nullopt;
  if (pause) shown["paused"] = *pause;
  ASSIGN_OR_RETURN(const auto metrics, jobs::ReadMetrics(journal, list));
  shown["metrics"] = jobs::MetricsJson(metrics.all());
  if (arguments.json) {
    fmt::print("{}\n", JsonText(shown, 2));
    return kDone;
  }
  fmt::print("{}: {} of {} steps done, {} failed, {} unknown, {} waiting{}\n", folder.id(),
             CountOf(shown, "done"), counts.all, CountOf(shown, "failed"),
             CountOf(shown, "unknown"), CountOf(shown, "waiting"), locked ? "; running" : "");
  if (pause) fmt::print("{}\n", *pause);
  fmt::print("outputs: {}\n", outputs.string());
  if (limits && *limits) fmt::print("limits: {}\n", **limits);
  for (const auto& metric : metrics.all()) fmt::print("{}\n", jobs::MetricText(metric));
  PrintFailedSteps(failed);
  return kDone;
}

Result<int> ShowLogs(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(auto job, OpenJournal(arguments.job));
  auto& [folder, journal, list] = job;
  ASSIGN_OR_RETURN(const auto step, FindStep(list, arguments.step, folder.id()));
  const auto running = RunningAttempt(folder.id(), step);
  const auto last = std::max(list[step].attempts, running);
  const auto attempt = arguments.attempt > 0 ? arguments.attempt : last;
  if (attempt > last) {
    return InvalidArgument("step {} of job {} has {}; give one of 1 to {}", step + 1, folder.id(),
                           Plural(last, "attempt"), last);
  }
  const fs::path files = OutputFolder(folder, journal) / list[step].files;
  StepOutput output(jobs::OutputsOfAttempt(files, attempt, attempt == last));
  while (arguments.follow && RunningAttempt(folder.id(), step) == attempt) {
    if (!output.PrintNew()) return kOutput;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return output.PrintNew() ? kDone : kOutput;
}

Result<int> WhyJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  ASSIGN_OR_RETURN(const auto status, jobs::QueryRunner(folder.id(), {{"request", "status"}}));
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

Result<int> TuneJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  std::string text;
  if (const auto answer = jobs::QueryRunner(folder.id(), {{"request", "tune"}})) {
    text = answer->value("text", "");
  } else {
    ASSIGN_OR_RETURN(auto journal, jobs::Journal::Open(folder.journal()));
    ASSIGN_OR_RETURN(const auto kept, journal.Get(jobs::kTuning));
    text = kept.value_or("");
  }
  if (text.empty()) {
    text = "no measurements: the number of workers was given, or the job was too short\n";
  }
  fmt::print("{}", text);
  return kDone;
}

Result<int> FollowJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  bool seen = false;
  for (;;) {
    const auto status = jobs::QueryRunner(folder.id(), {{"request", "status"}});
    const bool ended = !status && status.error().code == Error::Code::kUnavailable;
    if (!status && (!seen || !ended)) return std::unexpected(status.error());
    if (!status) {
      fmt::print("the runner has ended\n");
      return kDone;
    }
    seen = true;
    PrintStatus(*status);
    if (std::fflush(stdout) != 0) return kOutput;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

Result<int> WaitForJob(const JobsArguments& arguments) {
  ASSIGN_OR_RETURN(const auto folder, FindJob(arguments.job));
  for (;;) {
    const auto locked = folder.IsLocked();
    // File descriptors may run out temporarily.
    if (!locked && locked.error().code != Error::Code::kExhausted) {
      return std::unexpected(locked.error());
    }
    if (!locked.value_or(true)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ASSIGN_OR_RETURN(const auto job, OpenJournal(folder.id()));
  const Counts counts = Count(job.steps);
  return counts.Of(StepState::kDone) == counts.all ? kDone : kFailedSteps;
}

}  // namespace reveza::cli
