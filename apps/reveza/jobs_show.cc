#include "jobs_show.h"

#include <fmt/format.h>
#include <unistd.h>

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

#include "base/units.h"
#include "exit_status.h"
#include "jobs_words.h"
#include "platform/runtime_paths.h"
#include "runner/engine/control.h"
#include "runner/engine/engine.h"
#include "runner/engine/repair_job.h"
#include "runner/engine/step_limits.h"
#include "runner/journal/job_folder.h"
#include "runner/journal/journal.h"
#include "runner/report/journal_metrics.h"
#include "runner/report/progress_json.h"

namespace reveza::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using runner::JobFolder;
using runner::StepState;

struct Counts {
  std::map<StepState, std::uint64_t> of;
  std::uint64_t all = 0;

  std::uint64_t Of(StepState state) const {
    const auto found = of.find(state);
    return found == of.end() ? 0 : found->second;
  }
};

// A job as it stands: its folder, its journal and the steps in it.
struct OpenedJournal {
  JobFolder folder;
  runner::Journal journal;
  std::vector<runner::StepEntry> steps;
};

Result<OpenedJournal> OpenJournal(const std::string& name) {
  auto folder = FindJob(name);
  if (!folder) return std::unexpected(folder.error());
  auto journal = runner::Journal::Open(folder->journal());
  if (!journal) return std::unexpected(journal.error());
  auto steps = journal->List();
  if (!steps) return std::unexpected(steps.error());
  return OpenedJournal{std::move(*folder), std::move(*journal), std::move(*steps)};
}

// Where the last run has put what steps print.
fs::path OutputsOf(const JobFolder& folder, runner::Journal& journal) {
  const auto kept = journal.Get(runner::kOutputs);
  return kept && *kept ? fs::path(**kept) : folder.outputs();
}

Counts Count(const std::vector<runner::StepEntry>& steps) {
  Counts counts;
  counts.all = steps.size();
  for (const auto& step : steps) {
    // Nobody runs it now, and it has failed: what else would a reader call it?
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

std::string TimeText(runner::WallTime at) {
  const std::time_t seconds = at / 1'000'000'000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

int Tell(int argc, char** argv, const char* request) {
  const auto words = ReadJobWords(argc, argv, 1, 1, fmt::format("{} JOB", argv[0]));
  if (!words) return SayJobError(words.error());
  const auto folder = FindJob(words->names[0]);
  if (!folder) return SayJobError(folder.error());
  const auto answer = runner::AskRunner(folder->id(), {{"request", request}});
  if (!answer) return SayJobError(answer.error());
  if (answer->contains("error")) return Say(kFailed, (*answer)["error"].get<std::string>());
  if (const auto note = answer->value("note", ""); !note.empty()) fmt::print("{}\n", note);
  return kDone;
}

// Of a job that is paused: what that means for its steps.
std::optional<std::string> PauseOf(const JobFolder& folder) {
  const auto status = runner::AskRunner(folder.id(), {{"request", "status"}});
  if (!status || status->value("state", "") != "paused") return std::nullopt;
  const auto waiting = status->find("waiting");
  return waiting != status->end() && waiting->is_string() ? waiting->get<std::string>()
                                                          : "the job is paused";
}

void PrintStatus(const json& status) {
  const auto& steps = status["steps"];
  fmt::print("{}: {} of {} done, {} running, {} waiting, {} failed; {} workers\n",
             status["id"].get<std::string>(), steps["done"].get<std::uint64_t>(),
             steps["all"].get<std::uint64_t>(), steps["running"].get<std::uint64_t>(),
             steps["waiting"].get<std::uint64_t>(), steps["failed"].get<std::uint64_t>(),
             status["workers"]["best"].is_null() ? 0 : status["workers"]["best"].get<unsigned>());
}

}  // namespace

int ListJobs(int argc, char** argv) {
  const auto words = ReadJobWords(argc, argv, 0, 0, "list [--json]");
  if (!words) return SayJobError(words.error());
  const auto state = runner::StateHome(platform::ProcessEnvironment);
  if (!state) return SayJobError(state.error());
  json all = json::array();
  for (const auto& name : JobFolder::All(*state)) {
    const auto folder = JobFolder::Find(*state, name);
    if (!folder) continue;
    auto journal = runner::Journal::Open(folder->journal());
    const auto list = journal ? journal->List() : std::unexpected(journal.error());
    if (!list) {
      all.push_back({{"id", name}, {"error", list.error().message}});
      continue;
    }
    const auto locked = folder->IsLocked();
    if (!locked) return SayJobError(locked.error());
    all.push_back(ToJson(name, Count(*list), *locked));
  }
  if (words->json) {
    fmt::print("{}\n", all.dump(2, ' ', false, json::error_handler_t::replace));
    return kDone;
  }
  if (all.empty()) fmt::print("no jobs; reveza jobs run makes one\n");
  for (const auto& job : all) {
    if (job.contains("error")) {
      fmt::print("{:<32} {}\n", job["id"].get<std::string>(), job["error"].get<std::string>());
      continue;
    }
    const auto& steps = job["steps"];
    const auto failed = steps["failed"].get<std::uint64_t>();
    const auto unknown = steps["unknown"].get<std::uint64_t>();
    fmt::print("{:<32} {:>8} of {} done{}{}{}\n", job["id"].get<std::string>(),
               steps["done"].get<std::uint64_t>(), steps["all"].get<std::uint64_t>(),
               failed > 0 ? fmt::format(", {} failed", failed) : "",
               unknown > 0 ? fmt::format(", {} unknown", unknown) : "",
               job["running"].get<bool>() ? ", a runner works on it" : "");
  }
  return kDone;
}

int ShowJob(int argc, char** argv) {
  const auto words = ReadJobWords(argc, argv, 1, 1, "show JOB [--json]");
  if (!words) return SayJobError(words.error());
  auto job = OpenJournal(words->names[0]);
  if (!job) return SayJobError(job.error());
  auto& [folder, journal, list] = *job;
  const Counts counts = Count(list);
  const fs::path outputs = OutputsOf(folder, journal);
  const auto locked = folder.IsLocked();
  if (!locked) return SayJobError(locked.error());
  json shown = ToJson(folder.id(), counts, *locked);
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
  shown["failed"] = failed;
  shown["outputs"] = outputs.string();
  const auto limits = journal.Get(runner::kLimits);
  if (limits && *limits) shown["limits"] = **limits;
  const auto pause = *locked ? PauseOf(folder) : std::nullopt;
  if (pause) shown["paused"] = *pause;
  const auto metrics = runner::ReadMetrics(journal, list);
  if (!metrics) return SayJobError(metrics.error());
  shown["metrics"] = runner::MetricsJson(metrics->all());
  if (words->json) {
    fmt::print("{}\n", shown.dump(2, ' ', false, json::error_handler_t::replace));
    return kDone;
  }
  const auto& steps = shown["steps"];
  fmt::print("{}: {} of {} steps done, {} failed, {} unknown, {} waiting{}\n", folder.id(),
             steps["done"].get<std::uint64_t>(), counts.all, steps["failed"].get<std::uint64_t>(),
             steps["unknown"].get<std::uint64_t>(), steps["waiting"].get<std::uint64_t>(),
             *locked ? "; a runner works on it" : "");
  if (pause) fmt::print("{}\n", *pause);
  fmt::print("outputs: {}\n", outputs.string());
  if (limits && *limits) fmt::print("limits: {}\n", **limits);
  for (const auto& metric : metrics->all()) fmt::print("{}\n", runner::MetricText(metric));
  constexpr std::size_t kMostShown = 20;
  for (std::size_t i = 0; i < failed.size() && i < kMostShown; ++i) {
    const auto& one = failed[i];
    fmt::print("  step {} ({}): {}, code {}, {} attempts, last {}\n",
               one["step"].get<std::size_t>(), one["label"].get<std::string>(),
               one["outcome"].get<std::string>(), one["code"].get<int>(),
               one["attempts"].get<std::size_t>(), TimeText(one["ended"].get<runner::WallTime>()));
  }
  if (failed.size() > kMostShown) {
    fmt::print("  and {} more (--json lists all)\n", failed.size() - kMostShown);
  }
  return kDone;
}

int ShowLogs(int argc, char** argv) {
  const auto words = ReadJobWords(argc, argv, 2, 2, "logs JOB STEP");
  if (!words) return SayJobError(words.error());
  auto job = OpenJournal(words->names[0]);
  if (!job) return SayJobError(job.error());
  auto& [folder, journal, list] = *job;
  // By its number, or as it is called.
  std::optional<runner::StepEntry> step;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (words->names[1] == std::to_string(i + 1) || words->names[1] == list[i].label) {
      step = list[i];
      break;
    }
  }
  if (!step) {
    return Say(kUsage, fmt::format("job {} has no step '{}'; there are 1 to {}", folder.id(),
                                   words->names[1], list.size()));
  }
  const fs::path outputs = OutputsOf(folder, journal);
  for (const auto& [suffix, stream] : {std::pair{".out", stdout}, std::pair{".err", stderr}}) {
    std::ifstream file((outputs / step->files).string() + suffix, std::ios::binary);
    char part[65536];
    while (file.read(part, sizeof(part)) || file.gcount() > 0) {
      std::fwrite(part, 1, static_cast<std::size_t>(file.gcount()), stream);
    }
  }
  return std::fflush(stdout) == 0 ? kDone : kOutput;
}

int WhyJob(int argc, char** argv) {
  const auto words = ReadJobWords(argc, argv, 1, 1, "why JOB");
  if (!words) return SayJobError(words.error());
  const auto folder = FindJob(words->names[0]);
  if (!folder) return SayJobError(folder.error());
  const auto status = runner::AskRunner(folder->id(), {{"request", "status"}});
  if (!status) return SayJobError(status.error());
  PrintStatus(*status);
  const auto& waiting = (*status)["waiting"];
  const auto& reason = (*status)["workers"]["reason"];
  if (waiting.is_string()) fmt::print("the next step waits: {}\n", waiting.get<std::string>());
  if (reason.is_string()) fmt::print("number of workers: {}\n", reason.get<std::string>());
  if (!waiting.is_string() && !reason.is_string()) {
    fmt::print("nothing waits but for a worker to be free\n");
  }
  return kDone;
}

int TuneJob(int argc, char** argv) {
  const auto words = ReadJobWords(argc, argv, 1, 1, "tune JOB");
  if (!words) return SayJobError(words.error());
  const auto folder = FindJob(words->names[0]);
  if (!folder) return SayJobError(folder.error());
  std::string text;
  if (const auto answer = runner::AskRunner(folder->id(), {{"request", "tune"}})) {
    text = answer->value("text", "");
  } else {
    auto journal = runner::Journal::Open(folder->journal());
    if (!journal) return SayJobError(journal.error());
    const auto kept = journal->Get(runner::kTuning);
    if (!kept) return SayJobError(kept.error());
    text = kept->value_or("");
  }
  if (text.empty()) {
    text = "no number of workers was measured: it was given, or the job was too short for that\n";
  }
  fmt::print("{}", text);
  return kDone;
}

int FollowJob(int argc, char** argv) {
  const auto words = ReadJobWords(argc, argv, 1, 1, "follow JOB");
  if (!words) return SayJobError(words.error());
  const auto folder = FindJob(words->names[0]);
  if (!folder) return SayJobError(folder.error());
  bool seen = false;
  for (;;) {
    const auto status = runner::AskRunner(folder->id(), {{"request", "status"}});
    const bool ended = !status && status.error().code == Error::Code::kUnavailable;
    if (!status && (!seen || !ended)) return SayJobError(status.error());
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

int WaitForJob(int argc, char** argv) {
  const auto words = ReadJobWords(argc, argv, 1, 1, "wait JOB");
  if (!words) return SayJobError(words.error());
  const auto folder = FindJob(words->names[0]);
  if (!folder) return SayJobError(folder.error());
  for (;;) {
    const auto locked = folder->IsLocked();
    // Without a descriptor now there may be one later.
    if (!locked && locked.error().code != Error::Code::kExhausted) {
      return SayJobError(locked.error());
    }
    if (!locked.value_or(true)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const auto job = OpenJournal(words->names[0]);
  if (!job) return SayJobError(job.error());
  const Counts counts = Count(job->steps);
  return counts.Of(StepState::kDone) == counts.all ? kDone : kFailedSteps;
}

int PauseJob(int argc, char** argv) { return Tell(argc, argv, "pause"); }
int ResumeJob(int argc, char** argv) { return Tell(argc, argv, "resume"); }
int StopJob(int argc, char** argv) { return Tell(argc, argv, "stop"); }
int CancelJob(int argc, char** argv) { return Tell(argc, argv, "cancel"); }

int RepairJob(int argc, char** argv) {
  const auto words = ReadJobWords(argc, argv, 1, 1, "repair JOB");
  if (!words) return SayJobError(words.error());
  const auto folder = FindJob(words->names[0]);
  if (!folder) return SayJobError(folder.error());
  const auto lock = folder->Lock();
  if (!lock) return SayJobError(lock.error());
  const auto repaired = runner::RepairJob(*folder);
  if (!repaired) return SayJobError(repaired.error());
  fmt::print(
      "{} attempts are known again, of {} nobody saw the end; the same reveza jobs run goes "
      "on from here\n",
      repaired->attempts, repaired->unknown);
  if (!repaired->kept.empty())
    fmt::print("kept of what else was remembered: {}\n", fmt::join(repaired->kept, ", "));
  if (repaired->added_lost) {
    fmt::print(
        "steps that were added to it are lost; reveza jobs add adds them again, and what of them "
        "is done stays so\n");
  }
  return kDone;
}

int PruneJob(int argc, char** argv) {
  const auto words = ReadJobWords(argc, argv, 1, 1, "prune JOB");
  if (!words) return SayJobError(words.error());
  const auto folder = FindJob(words->names[0]);
  if (!folder) return SayJobError(folder.error());
  const auto lock = folder->Lock();
  if (!lock) return SayJobError(lock.error());
  runner::RemoveLeftGroups(*folder);
  std::error_code error;
  fs::remove_all(folder->path(), error);
  if (error)
    return Say(kOutput,
               fmt::format("cannot remove {}: {}", folder->path().string(), error.message()));
  return kDone;
}

}  // namespace reveza::cli
